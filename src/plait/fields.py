"""Keyword construction from annotated fields, for classes that users derive from.

    class MyModel(BaseChatModel):
        model: str
        temperature: float = 0.0

    MyModel(model="x")

The annotations are names only: values are taken as given. Defaults made with pydantic's `Field`
and `PrivateAttr` are understood (default, default_factory, alias), and its decorators
`model_validator` and `field_validator` are called (before and after), without importing pydantic.
"""

from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from functools import lru_cache, partial
from inspect import get_annotations
from itertools import repeat
from operator import is_
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

from plait.errors import nearest

_NOTHING: Any = object()


class AnnotatedFields:
    """Takes its annotated fields as keyword arguments.

    Raises:
        TypeError: A field without a default is missing, or a name is not a field.
    """

    def __init__(self, **values: Any) -> None:
        kind = type(self)
        checks = _checks(kind)
        values = checks.before(values) if checks else values
        fields = _known(kind)
        if fields.fit(values):
            vars(self).update(fields.filled(values))
        else:
            _set_each(self, fields, values)
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


def fields_of(kind: type) -> Mapping[str, Any]:
    """The annotated fields of a class and its bases, with their defaults. Kept: do not change it.

    Class variables and what a subclass defines as a method or property are no fields.
    """
    return _known(kind).defaults


class _Fields:
    """The fields of a class, as they are while nobody sets attributes of the class anew."""

    def __init__(self, kind: type) -> None:
        found: dict[str, Any] = {}
        for base in reversed(kind.__mro__):
            for name, annotation in get_annotations(base).items():
                if "ClassVar" not in str(annotation) and not name.startswith("__"):
                    found[name] = _NOTHING
            found.update({name: value for name, value in vars(base).items() if name in found})
        self.names = tuple(found)
        self.seen = [getattr(kind, name, _NOTHING) for name in found]
        self.defaults = {n: default for n, default in found.items() if not _is_code(default)}
        aliased = any(getattr(one, "alias", None) is not None for one in self.defaults.values())
        self.is_plain = kind.__setattr__ in _PLAIN and not aliased
        """Whether setting a field does no more than that, and is done under its own name."""
        self.public = frozenset(name for name in self.defaults if not name.startswith("_"))
        lacking = {name for name, default in self.defaults.items() if _lacks(default)}
        self.required = self.public & lacking
        self.start = {
            n: d for n, d in self.defaults.items() if n in self.public or n not in lacking
        }
        self.made = [
            (n, _maker(d)) for n, d in self.start.items() if n not in lacking and _is_made(d)
        ]

    def hold(self, kind: type) -> bool:
        """Whether the class still has the attributes that were seen."""
        now = map(getattr, repeat(kind), self.names, repeat(_NOTHING))
        return all(map(is_, now, self.seen))

    def fit(self, values: dict[str, Any]) -> bool:
        """Whether values can be taken as they are: none is missing, unknown or hidden."""
        given = values.keys()
        return self.is_plain and given <= self.public and given >= self.required

    def filled(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values of all fields, in their order; of those that fit."""
        held = {**self.start, **values}
        for name, make in self.made:
            if name not in values:
                held[name] = make()
        return held


def _set_each(made: Any, fields: _Fields, values: dict[str, Any]) -> None:
    """Set the fields one by one, with aliases; a value that does not fit is named."""
    for name, default in fields.defaults.items():
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
                    f"{type(made).__name__} needs a value for {alias or name!r}: pass "
                    f"{alias or name}=... or give the field a default in the class."
                )
        setattr(made, name, value)
    if values:
        name = next(iter(values))
        known = [field for field in fields.defaults if not field.startswith("_")]
        raise TypeError(f"{type(made).__name__} has no field {name!r}. {nearest(name, known)}")


_Setter = TypeVar("_Setter", bound=Callable[..., None])
_PLAIN: set[Any] = {object.__setattr__}


def sets_plainly(setter: _Setter) -> _Setter:
    """Mark a `__setattr__` that does no more, while an object is made, than set the attribute."""
    _PLAIN.add(setter)
    return setter


_FIELDS: WeakKeyDictionary[type, _Fields] = WeakKeyDictionary()


def _known(kind: type) -> _Fields:
    known = _FIELDS.get(kind)
    if known is None or not known.hold(kind):
        known = _FIELDS[kind] = _Fields(kind)
    return known


def _is_code(value: Any) -> bool:
    return isinstance(value, property) or hasattr(value, "__get__")


def _lacks(default: Any) -> bool:
    """Whether it is no default: a value has to be given."""
    if not hasattr(default, "get_default"):
        return default is _NOTHING
    required = getattr(default, "is_required", None)
    return required is not None and required()


def _is_made(default: Any) -> bool:
    """Whether each instance has its own: pydantic's Field and PrivateAttr, or a container."""
    return hasattr(default, "get_default") or isinstance(default, (list, dict, set))


def _maker(default: Any) -> Callable[[], Any]:
    """What makes such a default for one instance."""
    if type(default) in (list, dict, set):
        return default.copy
    if not hasattr(default, "get_default"):
        return partial(copy, default)
    factory = default.default_factory
    return factory if factory is not None else partial(copy, default.default)


def _default(default: Any) -> Any:
    """A default for one instance: made anew where instances could share it."""
    if _lacks(default):
        return _NOTHING
    return _maker(default)() if _is_made(default) else default


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
