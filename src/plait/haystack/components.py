"""Components: classes with a `run` that serialized data may name; how they become data and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any, TypeVar, cast

from plait.haystack.errors import ComponentError, DeserializationError, SerializationError
from plait.haystack.registry import is_name_of, lookup_class, name_of, remember

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


class _ComponentDecorator:
    """`@component`, and `@component.output_types(...)` on its methods."""

    def __call__(self, cls: C) -> C:
        """Make a class a component: serialized data may name it.

        Raises:
            ComponentError: It has no `run`.
        """
        if not callable(getattr(cls, "run", None)):
            raise ComponentError(f"Component {cls.__name__} must have a 'run()' method.")
        remember(cls)
        return cls

    def output_types(self, **types: Any) -> Callable[[F], F]:
        """Say which outputs a `run` method has."""

        def decorate(method: F) -> F:
            cast("Any", method).__output_types__ = types
            return method

        return decorate


component = _ComponentDecorator()
"""Make a class a component.

>>> @component
... class Echo:
...     @component.output_types(text=str)
...     def run(self, text: str):
...         return {"text": text}
>>> Echo().run("hi")
{'text': 'hi'}
"""


def default_to_dict(obj: Any, **init_parameters: Any) -> dict[str, Any]:
    """A component as plain data: its class, and what to make it with again."""
    return {"type": name_of(type(obj)), "init_parameters": init_parameters}


def default_from_dict(cls: type, data: Mapping[str, Any]) -> Any:
    """The component that `default_to_dict` wrote.

    Raises:
        DeserializationError: The data is of another class.
    """
    if "type" not in data:
        raise DeserializationError(f"A serialized {cls.__name__} needs a 'type'.")
    if not is_name_of(data["type"], cls):
        raise DeserializationError(f"The data is of a {data['type']}, not of a {cls.__name__}.")
    return cls(**data.get("init_parameters", {}))


def component_to_dict(obj: Any, name: str) -> dict[str, Any]:
    """Any component as plain data: by its `to_dict`, else by what its `__init__` takes.

    Args:
        obj: The component.
        name: What an error calls it.

    Raises:
        SerializationError: An argument of its `__init__` cannot be found again.
    """
    if callable(getattr(obj, "to_dict", None)):
        return obj.to_dict()
    given: dict[str, Any] = {}
    for key, parameter in signature(type(obj).__init__).parameters.items():
        if key == "self" or parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            continue
        if hasattr(obj, key):
            given[key] = getattr(obj, key)
        elif parameter.default is Parameter.empty:
            raise SerializationError(
                f"{name} ({type(obj).__name__}) does not keep its argument {key!r}. Keep it as "
                "self.{key}, or give the class to_dict() and from_dict()."
            )
        else:
            given[key] = parameter.default
    return default_to_dict(obj, **given)


def component_from_dict(data: Any) -> Any:
    """Any component of plain data.

    Raises:
        DeserializationError: It is damaged, or of a class that is not registered.
    """
    if not isinstance(data, Mapping) or "type" not in data:
        raise DeserializationError(f"A serialized component needs a 'type': {data!r:.200}")
    held = cast("Mapping[str, Any]", data)
    cls = lookup_class(held["type"])
    read = getattr(cls, "from_dict", None)
    return read(held) if callable(read) else default_from_dict(cls, held)


__all__ = [
    "component",
    "component_from_dict",
    "component_to_dict",
    "default_from_dict",
    "default_to_dict",
]
