"""Digests of mutable values: equal digests mean that nothing inside was changed in place.

Plain nested data is walked in C; what is more than that (subclasses, objects) is walked here.
An object that nothing is known about gets a digest that equals no other, so that it always counts
as changed: encoding once too often costs time, a lost change would lose data.
Digests live and die in this process; they are never stored.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from typing import Any, cast

from plait.common.digests import plain_hash

IMMUTABLE = (str, int, float, bool, type(None), bytes, complex)


def digest(value: Any) -> Hashable:
    """A token that changes whenever something inside `value` does.

    >>> data = {"a": [1, {"b": 2}]}
    >>> before = digest(data)
    >>> data["a"][1]["b"] = 3
    >>> digest(data) == before
    False
    """
    plain = plain_hash(value)
    return walk(value) if plain is None else plain


def walk(value: Any) -> Hashable:
    """The digest of a value with more than plain data in it, container by container."""
    kind: type[Any] = value.__class__
    if kind in IMMUTABLE:
        return (kind.__name__, value)
    stamp = getattr(kind, "__plait_stamp__", None)
    if stamp is not None:
        return (id(value), stamp(value))
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return (kind.__name__, tuple((digest(k), digest(v)) for k, v in items))
    if isinstance(value, (list, tuple)):
        return (kind.__name__, tuple(digest(v) for v in cast("list[Any]", value)))
    if isinstance(value, Set):
        return (kind.__name__, frozenset(digest(v) for v in cast("Set[Any]", value)))
    return walk_object(value)


def walk_object(value: Any) -> Hashable:
    """The digest of an object: its bytes, or its attributes, or never the same twice."""
    try:
        view = memoryview(value)
        return (type(value).__name__, view.format, view.shape, hash(view.tobytes()))
    except (TypeError, ValueError, NotImplementedError):
        pass
    attributes: dict[str, Any] | None = getattr(value, "__dict__", None)
    if attributes is not None and not isinstance(value, type) and not has_slots(value.__class__):
        return (type(value).__name__, id(value), digest(attributes))
    if type(value).__module__ in ("datetime", "uuid", "decimal", "pathlib"):
        return (type(value).__name__, repr(value))  # 1.0 == 1.00, and times of two zones are equal
    return object()


def has_slots(cls: type) -> bool:
    """Whether instances keep state outside their `__dict__`."""
    return any(vars(c).get("__slots__") for c in cls.__mro__)
