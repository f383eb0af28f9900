"""How objects of a class are taken apart and rebuilt without `__init__` or validators.

One pair of functions (encode: object to plain state, decode: plain state to object) for each kind
of class. State that is missing (a field added since it was written) takes the field's default;
state that the class has no place for (a field removed since) is dropped. A dataclass that became a
model, or a model that became a dataclass, reads what it was.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import MISSING, fields
from enum import Enum, Flag
from functools import cached_property
from itertools import chain
from operator import attrgetter
from types import BuiltinFunctionType
from typing import Any, NamedTuple, TypeAlias, cast
from weakref import WeakKeyDictionary

from plait.checkpoint.serde.pydantic_values import is_url, shape_of_url
from plait.errors import UnregisteredTypeError

Shape: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], Any]]

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: classes of class statements, and some that C makes
_setattr = object.__setattr__
# Classes built on these are stored as the base's own value and their attributes. The base's own
# methods read it, since a subclass may have overridden iteration and the like.
_CONTENT: dict[Any, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__pos__,
    float: float.__pos__,
    bytes: lambda v: bytes.__getnewargs__(v)[0],
    tuple: lambda v: list(tuple[Any].__iter__(v)),
    frozenset: lambda v: list(frozenset[Any].__iter__(v)),
    list: lambda v: list(list[Any].__iter__(v)),
    set: lambda v: list(set[Any].__iter__(v)),
    dict: lambda v: dict(dict[Any, Any].items(v)),
}
_FILLED: dict[Any, str] = {list: "extend", dict: "update", set: "update"}
"""Bases that are made empty, and their own method that fills them."""
_FACTORIES = (list, dict, set, tuple, frozenset, str, int, float, bool)
"""Default factories that may run when a stored object lacks a field: they are no user code."""


class Parts(NamedTuple):
    """How many objects are taken apart at once, in C: for one who only compares what they hold."""

    width: int
    """How many parts an object has."""
    read: Callable[[list[Any]], list[Any]]
    """The parts of objects, one after another; complains (AttributeError) of broken ones."""


_PARTS: WeakKeyDictionary[Callable[[Any], Any], Parts] = WeakKeyDictionary()
"""By the function that encodes objects of a class what it reads of them."""
_attributes_of: Callable[[Any], dict[str, Any]] = attrgetter("__dict__")
_set_of: Callable[[Any], set[str]] = attrgetter("__pydantic_fields_set__")
_extra_of: Callable[[Any], Any] = attrgetter("__pydantic_extra__")
_private_of: Callable[[Any], Any] = attrgetter("__pydantic_private__")


def parts_of(encode: Callable[[Any], Any]) -> Parts | None:
    """What `encode` (of `shape_of`) reads of objects; None where it is not known.

    Parts that are equal, packed, mean an equal state. Equal states may be of different parts.
    """
    return _PARTS.get(encode)


def _parts_of_attributes(objects: list[Any]) -> list[Any]:
    return [*map(_attributes_of, objects)]


def _parts_of_models(models: list[Any]) -> list[Any]:
    sets = map(list, map(_set_of, models))
    more = map(_extra_of, models), map(_private_of, models)
    return [*chain.from_iterable(zip(map(_attributes_of, models), sets, *more, strict=True))]


def shape_of(cls: type[Any]) -> Shape:
    """The (encode, decode) pair of a class.

    Raises:
        TypeError: The class keeps state where plait cannot see it.
    """
    if hasattr(cls, "__plait_state__"):
        return cls.__plait_state__, cls.__plait_restore__
    if issubclass(cls, Enum):
        return _enum(cls)
    if is_model(cls):
        return _model(cls)
    if is_url(cls):
        return shape_of_url(cls)
    base = _builtin_base(cls)
    if base is object and cls is not object:
        return _attributes(cls)
    if base is tuple and hasattr(cls, "_fields"):
        return _named_tuple(cls)
    if issubclass(base, BaseException):
        return _exception(cls)
    if base in _CONTENT:
        return _subclass(cls, base)
    raise TypeError(
        f"{cls.__module__}.{cls.__qualname__} is built on {base.__name__}, whose state plait "
        "cannot see. Register it with both encode= and decode=."
    )


def is_model(cls: type[Any]) -> bool:
    """Whether a class is a pydantic model (without importing pydantic)."""
    pydantic = sys.modules.get("pydantic.main")
    return pydantic is not None and issubclass(cls, pydantic.BaseModel)


def _builtin_base(cls: type[Any]) -> type[Any]:
    """The nearest ancestor written in C: where the object's memory layout comes from."""
    return next(base for base in cls.__mro__ if _is_of_c(base))


def _is_of_c(cls: type[Any]) -> bool:
    """Whether a class is written in C: it is no heap type, or makes its own objects in C."""
    makes = cls.__dict__.get("__new__")
    own = isinstance(makes, BuiltinFunctionType) and makes.__self__ is cls
    return own or not cls.__flags__ & _HEAP_TYPE


def is_content(cls: type[Any]) -> bool:
    """Whether a class is built on str, dict, list or the like, whose value it is."""
    return _builtin_base(cls) in _CONTENT


def _enum(cls: type[Any]) -> Shape:
    def decode(state: Any) -> Any:
        if issubclass(cls, Flag) and isinstance(state, int):
            return cls(state)  # a combination of flags is no member, the class makes it
        for member in cls.__members__.values():
            if member._value_ == state and type(member._value_) is type(state):
                return member
        raise ValueError(f"{cls.__qualname__} has no member of value {state!r}")

    found = set[str]()

    def encode(member: Any) -> Any:
        if member._name_ not in found and not isinstance(member, Flag):
            if not _can_be_found(member._value_):
                raise UnregisteredTypeError(
                    f"{cls.__qualname__}.{member._name_} cannot be stored: members are found again "
                    "by their values, and its value is equal to none that is read. Give the class "
                    "of the value an __eq__, or register the enum with encode= and decode=."
                )
            found.add(member._name_)
        return member._value_

    return encode, decode


def _can_be_found(value: Any) -> bool:
    """Whether a value will be equal to itself once it was stored and read."""
    try:
        return bool(deepcopy(value) == value)
    except Exception:  # any code may copy and compare
        return False


def _named_tuple(cls: type[Any]) -> Shape:
    names: tuple[str, ...] = cls._fields
    new: Any = tuple.__new__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    defaults: dict[str, Any] = cls._field_defaults
    items: Any = tuple.__iter__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    def encode(value: Any) -> dict[str, Any]:
        return dict(zip(names, items(value), strict=True))

    def decode(state: Any) -> Any:
        if type(state) is list:  # as it was once written: without the names
            state = dict(zip(names, cast("list[Any]", state), strict=False))
        return new(cls, [state[name] if name in state else defaults[name] for name in names])

    return encode, decode


def _exception(cls: type[Any]) -> Shape:
    def encode(error: BaseException) -> Any:
        return [list(error.args), error.__dict__]

    def decode(state: Any) -> Any:
        args, attributes = state
        error: Any = cls.__new__(cls, *args)
        error.args = tuple(args)
        error.__dict__.update(attributes)
        return error

    return encode, decode


def _subclass(cls: type[Any], base: Any) -> Shape:
    """A class built on str, int, list, dict, ...: its value, and its attributes."""
    read, write = _reader(cls), _writer(cls)
    content, fill = _CONTENT[base], _FILLED.get(base)
    new: Any = base.__new__

    def encode(value: Any) -> Any:
        return [content(value), read(value)]

    def decode(state: Any) -> Any:
        kept, attributes = state
        if fill is None:
            value = new(cls, kept)
        else:
            value = new(cls)
            getattr(base, fill)(value, kept)
        write(value, attributes)
        return value

    return encode, decode


# --- Classes that keep their state in attributes -------------------------------------------------


def _attributes(cls: type[Any]) -> Shape:
    read, write, new = _reader(cls), _writer(cls), object.__new__
    defaults: dict[str, Callable[[], Any]] = {}
    if hasattr(cls, "__dataclass_fields__"):
        defaults = _defaults(fields(cls))
    elif hasattr(cls, "__attrs_attrs__"):
        defaults = _defaults_of_attrs(cls)

    def decode(state: Any) -> Any:
        value = new(cls)
        if type(state) is list:  # it was a model when it was written
            state = cast("list[Any]", state)[0]
        if len(defaults) and not defaults.keys() <= state.keys():
            state = {name: default() for name, default in defaults.items()} | state
        write(value, state)
        return value

    return read, decode


def _slots(cls: type) -> list[str]:
    """The names of the attributes that live in slots, mangled as the interpreter does."""
    names: list[str] = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else cast(Iterable[str], slots):
            if name in ("__dict__", "__weakref__"):
                continue
            private = name.startswith("__") and not name.endswith("__")
            names.append(f"_{base.__name__.lstrip('_')}{name}" if private else name)
    return names


def _reader(cls: type) -> Callable[[Any], dict[str, Any]]:
    """A function that gives an object's attributes; cached properties are derived, so left out.

    So is what `Box[int](1)` notes of its type argument: no data, and `Box(1)` lacks it.
    """
    slots = _slots(cls)
    derived = _derived(cls)
    if hasattr(cls, "__class_getitem__"):
        derived.add("__orig_class__")
    if not slots and not derived and _has_dict(cls):

        def attributes(value: Any) -> dict[str, Any]:
            return value.__dict__

        _PARTS[attributes] = Parts(1, _parts_of_attributes)
        return attributes

    def read(value: Any) -> dict[str, Any]:
        state = {n: v for n, v in getattr(value, "__dict__", {}).items() if n not in derived}
        for name in slots:
            if hasattr(value, name):
                state[name] = getattr(value, name)
        return state

    return read


def _has_dict(cls: type) -> bool:
    """Whether objects of a class have attributes beside those in slots."""
    return cls.__dictoffset__ != 0


def _derived(cls: type) -> set[str]:
    """The names of cached properties."""
    return {n for b in cls.__mro__ for n, v in b.__dict__.items() if type(v) is cached_property}


def _writer(cls: type) -> Callable[[Any, dict[str, Any]], None]:
    """A function that sets an object's attributes, frozen or not, running no user code."""
    slots = frozenset(_slots(cls))
    has_dict = _has_dict(cls)

    def write(value: Any, state: dict[str, Any]) -> None:
        if not has_dict:
            for name in state.keys() & slots:
                _setattr(value, name, state[name])
            return
        attributes = value.__dict__
        for name, content in state.items():
            if name in slots:
                _setattr(value, name, content)
            else:
                attributes[name] = content

    return write


def _defaults(declared: Iterable[Any]) -> dict[str, Callable[[], Any]]:
    """Ways to make up for fields that a stored object lacks, of a dataclass or a model."""
    found: dict[str, Callable[[], Any]] = {}
    for field in declared:
        if field.default is not MISSING:
            found[field.name] = lambda value=field.default: value
        elif field.default_factory in _FACTORIES:
            found[field.name] = field.default_factory
    return found


def _defaults_of_attrs(cls: type[Any]) -> dict[str, Callable[[], Any]]:
    """The same of an attrs class."""
    attr = sys.modules["attr"]
    found: dict[str, Callable[[], Any]] = {}
    for field in cls.__attrs_attrs__:
        default = field.default
        if not isinstance(default, attr.Factory):
            if default is not attr.NOTHING:
                found[field.name] = lambda value=default: value
        elif default.factory in _FACTORIES:
            found[field.name] = default.factory
    return found


def _model(cls: type[Any]) -> Shape:
    """A pydantic model: its fields, which of them were set, extras and private attributes."""
    known: dict[str, Any] = cls.__pydantic_fields__
    extends = cls.model_config.get("extra") == "allow"
    secrets: dict[str, Any] = cls.__private_attributes__

    def encode(model: Any) -> Any:
        attributes = model.__dict__
        if attributes.keys() != known.keys():  # cached properties live there, too
            attributes = {n: v for n, v in attributes.items() if n in known}
        private = model.__pydantic_private__
        return [
            attributes,
            sorted(model.__pydantic_fields_set__),
            model.__pydantic_extra__,
            private or None,
        ]

    def decode(state: Any) -> Any:
        if type(state) is dict:  # it was a dataclass when it was written
            kept = cast("dict[str, Any]", state)
            state = [kept, list(kept), {} if extends else None, None]
        attributes, was_set, extra, private = state
        if attributes.keys() != known.keys():
            if extra:  # what was more than its fields may be one by now
                attributes = extra | attributes
                extra = {name: value for name, value in extra.items() if name not in known}
            attributes = _fit(known, attributes)
        if (extra is None) is extends:
            extra = dict[str, Any]() if extends else None
        model = object.__new__(cls)
        _setattr(model, "__dict__", attributes)
        _setattr(model, "__pydantic_fields_set__", set(was_set))
        _setattr(model, "__pydantic_extra__", extra)
        if secrets and (private is None or private.keys() != secrets.keys()):
            private = _fit(secrets, private or {})
        _setattr(model, "__pydantic_private__", private if secrets else None)
        return model

    if not _derived(cls):
        _PARTS[encode] = Parts(4, _parts_of_models)
    return encode, decode


def _fit(declared: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """Stored fields of a model, or private attributes, fitted to those that it has today."""
    nothing = sys.modules["pydantic_core"].PydanticUndefined
    fitted: dict[str, Any] = {}
    for name, each in declared.items():
        if name in stored:
            fitted[name] = stored[name]
        elif each.default_factory in _FACTORIES:
            fitted[name] = each.default_factory()
        elif each.default_factory is None and each.default is not nothing:
            fitted[name] = each.get_default()
    return fitted
