"""Keyword construction from annotated fields, for classes that users derive from.

    class MyModel(BaseChatModel):
        model: str
        temperature: float = 0.0

    MyModel(model="x")

The annotations are names only: values are taken as given. Defaults made with pydantic's `Field`
and `PrivateAttr` are understood (default, default_factory, alias), and its decorators
`model_validator` and `field_validator` are called (before and after), without importing pydantic.
"""

from collections.abc import Mapping
from copy import copy, deepcopy
from functools import lru_cache
from inspect import get_annotations
from typing import Any, Self, cast

from plait.errors import nearest

_NOTHING: Any = object()


class AnnotatedFields:
    """Takes its annotated fields as keyword arguments.

    Raises:
        TypeError: A field without a default is missing, or a name is not a field.
    """

    def __init__(self, **values: Any) -> None:
        checks = _checks(type(self))
        values = checks.before(values) if checks else values
        for name, default in fields_of(type(self)).items():
            alias = getattr(default, "alias", None)
            if alias is not None and alias in values:
                value = values.pop(alias)
            elif name in values and not name.startswith("_"):
                value = values.pop(name)
            else:
                value = _default(default)
                if value is _NOTHING and name.startswith("_"):
                    continue
                if value is _NOTHING:
                    raise TypeError(
                        f"{type(self).__name__} needs a value for {alias or name!r}: pass "
                        f"{alias or name}=... or give the field a default in the class."
                    )
            setattr(self, name, value)
        if values:
            name = next(iter(values))
            known = [field for field in fields_of(type(self)) if not field.startswith("_")]
            raise TypeError(f"{type(self).__name__} has no field {name!r}. {nearest(name, known)}")
        if checks:
            checks.after(self)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values of some fields."""
        made = deepcopy(self) if deep else copy(self)
        for name, value in (update or {}).items():
            setattr(made, name, value)
        return made

    def shown_fields(self) -> list[str]:
        """What is not as by default, as `name=value`."""
        return [
            f"{name}={getattr(self, name)!r}"
            for name, default in fields_of(type(self)).items()
            if not name.startswith("_") and getattr(self, name, None) != default
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.shown_fields())})"


def fields_of(kind: type) -> dict[str, Any]:
    """The annotated fields of a class and its bases, with their defaults.

    Class variables and what a subclass defines as a method or property are no fields.
    """
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        for name, annotation in get_annotations(base).items():
            if "ClassVar" not in str(annotation) and not name.startswith("__"):
                found[name] = _NOTHING
        found.update({name: value for name, value in vars(base).items() if name in found})
    return {name: default for name, default in found.items() if not _is_code(default)}


def _is_code(value: Any) -> bool:
    return isinstance(value, property) or hasattr(value, "__get__")


def _default(default: Any) -> Any:
    """A default for one instance: made anew where instances could share it."""
    if hasattr(default, "get_default"):  # pydantic's Field and PrivateAttr
        required = getattr(default, "is_required", None)
        if required is not None and required():
            return _NOTHING
        factory = default.default_factory
        return factory() if factory is not None else copy(default.default)
    return copy(cast("Any", default)) if isinstance(default, (list, dict, set)) else default


@lru_cache(maxsize=1024)
def _checks(kind: type) -> "_Checks | None":
    found = {
        name: value
        for base in reversed(kind.__mro__)
        for name, value in vars(base).items()
        if type(value).__name__ == "PydanticDescriptorProxy"
    }
    return _Checks(kind, list(found.values())) if found else None


class _Checks:
    """The validators that a class declares with pydantic's decorators."""

    def __init__(self, kind: type, proxies: list[Any]) -> None:
        self.kind = kind
        self.proxies = proxies
        for info in (proxy.decorator_info for proxy in proxies):
            if getattr(info, "mode", None) not in ("before", "after"):
                raise TypeError(
                    f"{kind.__name__}: only validators with mode 'before' or 'after' are "
                    "understood, of fields and of the whole."
                )

    def before(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values as the validators leave them that come before construction."""
        for proxy in self._of("before"):
            fields = getattr(proxy.decorator_info, "fields", None)
            if fields is None:
                values = self._call(proxy, values)
            else:
                new = {name: self._call(proxy, values[name]) for name in fields if name in values}
                values = {**values, **new}
        return values

    def after(self, made: Any) -> None:
        """Let the validators check what was made, fields first."""
        whole = [p for p in self._of("after") if getattr(p.decorator_info, "fields", None) is None]
        for proxy in self._of("after"):
            for name in getattr(proxy.decorator_info, "fields", None) or ():
                setattr(made, name, self._call(proxy, getattr(made, name)))
        for proxy in whole:
            proxy.wrapped(made)

    def _of(self, mode: str) -> list[Any]:
        return [proxy for proxy in self.proxies if proxy.decorator_info.mode == mode]

    def _call(self, proxy: Any, value: Any) -> Any:
        return proxy.wrapped.__get__(None, self.kind)(value)
