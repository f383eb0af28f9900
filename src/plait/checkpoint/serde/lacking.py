"""Which fields objects lack that were read: added to their class since, and without a default that
reading may fill in. An object is whole for who does not look at them, so reading tells nobody.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, cast

from plait.checkpoint.serde.own import own_name
from plait.checkpoint.serde.shapes import is_model, shape_of

_HOLDERS = (list, tuple, set, frozenset, deque)


def lacking(value: Any) -> dict[type, list[str]]:
    """By class the fields that objects of it lack, anywhere in a value. No code of theirs runs."""
    found: dict[type, dict[str, None]] = {}
    seen: set[int] = set()
    left: list[Any] = [value]
    while left:
        item = left.pop()
        cls = cast("type[Any]", type(item))
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Mapping):
            left += [*cast("Mapping[Any, Any]", item).values()]
        elif isinstance(item, _HOLDERS):
            left += [*cast("Iterable[Any]", item)]
        elif (declared := _declared(cls)) is not None:
            attributes = _attributes(item, cls)
            found.setdefault(cls, {}).update(dict.fromkeys(declared - attributes.keys()))
            left += [*attributes.values()]
    return {cls: sorted(names) for cls, names in found.items() if names}


def _declared(cls: type[Any]) -> set[str] | None:
    """The fields that objects of a class are made of; None where they are made otherwise."""
    if own_name(cls) is not None or issubclass(cls, Enum):
        return None
    if is_model(cls):
        return {*cls.__pydantic_fields__}
    if hasattr(cls, "__dataclass_fields__"):
        return {each.name for each in fields(cls) if each.init}
    if hasattr(cls, "__attrs_attrs__"):
        return {each.name for each in cls.__attrs_attrs__ if each.init}
    return None


def _attributes(item: Any, cls: type[Any]) -> dict[str, Any]:
    state = shape_of(cls)[0](item)
    if isinstance(state, dict):
        return cast("dict[str, Any]", state)
    return state[0 if is_model(cls) else -1]  # what is built on dict or the like has two parts


__all__ = ["lacking"]
