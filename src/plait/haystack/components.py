"""Components: classes with a `run` that serialized data may name; how they become data and back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from inspect import Parameter
from typing import Any, NamedTuple, TypeVar, cast, overload

from plait.common.reflection import known_annotations, signature
from plait.haystack.errors import (
    ComponentError,
    DeserializationError,
    SerializationError,
    reading,
)
from plait.haystack.registry import is_name_of, lookup_class, name_of, remember

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


class Input(NamedTuple):
    """What a component's `run` takes under one name."""

    type: Any
    default: Any = Parameter.empty


class _ComponentDecorator:
    """`@component`, and `@component.output_types(...)` on its methods."""

    @overload
    def __call__(self, cls: C) -> C: ...
    @overload
    def __call__(self, cls: None = None) -> Callable[[C], C]: ...
    def __call__(self, cls: C | None = None) -> C | Callable[[C], C]:
        """Make a class a component: serialized data may name it.

        Raises:
            ComponentError: It has no `run`.
        """
        if cls is None:
            return self.__call__
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

    def set_output_types(self, instance: Any, **types: Any) -> None:
        """Say, in a component's `__init__`, which outputs its `run` has.

        Raises:
            ComponentError: `output_types` has said so.
        """
        if hasattr(instance.run, "__output_types__"):
            raise ComponentError(
                f"{instance.__class__.__name__} says its outputs twice: by @component.output_types "
                "and by component.set_output_types. Leave one out."
            )
        instance.__output_types__ = types

    def set_input_types(self, instance: Any, **types: Any) -> None:
        """Say, in a component's `__init__`, what its `run(**kwargs)` must be given.

        Raises:
            ComponentError: Its `run` does not take what it does not name.
        """
        for name, kind in types.items():
            self.set_input_type(instance, name, kind)

    def set_input_type(
        self, instance: Any, name: str, type: Any, default: Any = Parameter.empty
    ) -> None:
        """Say, in a component's `__init__`, what its `run(**kwargs)` takes.

        Args:
            instance: The component.
            name: Under which name.
            type: Which type.
            default: What it is where nobody gives it; without one it must be given.

        Raises:
            ComponentError: Its `run` does not take what it does not name.
        """
        parameters = signature(instance.run).parameters.values()
        if all(one.kind is not Parameter.VAR_KEYWORD for one in parameters):
            raise ComponentError(
                f"Cannot set input types on a component that doesn't have a kwargs parameter in "
                f"the 'run' method: {instance.__class__.__name__}. Write run(self, **kwargs)."
            )
        held = cast("dict[str, Input]", instance.__dict__.setdefault("__input_types__", {}))
        held[name] = Input(type, default)


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


def inputs_of(obj: Any) -> dict[str, Input]:
    """What a component's `run` takes: what it says itself, else what its signature says.

    A component of Haystack's says it in sockets. A parameter without an annotation has the type
    `Parameter.empty`; one whose annotation names what does not exist, that text.
    """
    if (sockets := getattr(obj, "__haystack_input__", None)) is not None:
        return {name: _read_socket(one) for name, one in sockets._sockets_dict.items()}
    declared: dict[str, Input] = dict(getattr(obj, "__input_types__", {}))
    hints = known_annotations(obj.__class__.run)
    for name, one in signature(obj.run).parameters.items():
        if one.kind is not Parameter.VAR_KEYWORD:
            declared[name] = Input(hints.get(name, Parameter.empty), one.default)
    return declared


def _read_socket(socket: Any) -> Input:
    return Input(socket.type, Parameter.empty if socket.is_mandatory else socket.default_value)


def default_to_dict(obj: Any, **init_parameters: Any) -> dict[str, Any]:
    """A component as plain data: its class, and what to make it with again."""
    return {"type": name_of(type(obj)), "init_parameters": init_parameters}


def default_from_dict(cls: type, data: Mapping[str, Any]) -> Any:
    """The component that `default_to_dict` wrote.

    Raises:
        DeserializationError: The data is of another class.
    """
    with reading_component(cls, data):
        return cls(**data.get("init_parameters", {}))


@contextmanager
def reading_component(cls: type, data: Mapping[str, Any]) -> Generator[None]:
    """Read a component of a class from what `default_to_dict` wrote.

    Raises:
        DeserializationError: The data is of another class, or does not fit.
    """
    with reading(cls):
        if "type" not in data:
            raise DeserializationError(f"A serialized {cls.__name__} needs a 'type'.")
        if not is_name_of(data["type"], cls):
            raise DeserializationError(f"The data is of a {data['type']}, not of a {cls.__name__}.")
        yield


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
                f"self.{key}, or give the class to_dict() and from_dict()."
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


def deserialize_chatgenerator_inplace(data: dict[str, Any], key: str = "chat_generator") -> None:
    """Read the chat generator under a key of serialized data, and put it there.

    Args:
        data: What a component is made with again.
        key: Where its generator is.

    Raises:
        DeserializationError: It is missing, damaged, or of a class that is not registered.
    """
    if key not in data:
        raise DeserializationError(f"Missing '{key}' in serialization data")
    data[key] = component_from_dict(data[key])


__all__ = [
    "Input",
    "component",
    "component_from_dict",
    "component_to_dict",
    "default_from_dict",
    "default_to_dict",
    "deserialize_chatgenerator_inplace",
    "inputs_of",
    "reading_component",
]
