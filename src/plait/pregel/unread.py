"""Snapshots of which long lists and dicts are made when somebody looks at them.

A history is read to find a checkpoint, and the state of most is passed over: to make every list of
a long thread once for each of its checkpoints would be most of the work. Whatever one does with
such a snapshot, it behaves as the named tuple that it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from plait.engine.records import Unmade
from plait.types import PregelTask, StateSnapshot

_OF_ALL_PARTS = (
    "__add__", "__contains__", "__eq__", "__ge__", "__getitem__", "__getnewargs__", "__gt__",
    "__hash__", "__iter__", "__le__", "__lt__", "__mul__", "__ne__", "__repr__", "__rmul__",
    "_asdict", "_replace", "count", "index",
)  # fmt: skip
"""Methods of a snapshot that look at any of its parts."""
_item: Any = cast("Any", tuple).__getitem__


class Unread(StateSnapshot):
    """A snapshot that holds values which are `Unmade`: in its tuple, not in what it shows."""

    def __radd__(self, other: tuple[Any, ...]) -> tuple[Any, ...]:
        return other + tuple(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return StateSnapshot, tuple(self)


class _Part:
    """A part of a snapshot, which is made once, of what lies in its place."""

    def __init__(self, name: str, make: Callable[[Any], Any]) -> None:
        self._name, self._make = name, make
        self._place = StateSnapshot._fields.index(name)

    def __get__(self, snapshot: Any, owner: Any = None) -> Any:
        if snapshot is None:
            return self
        return snapshot.__dict__.setdefault(self._name, self._make(_item(snapshot, self._place)))


def _values(held: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value.made() if isinstance(value, Unmade) else value for key, value in held.items()
    }


def _tasks(held: tuple[PregelTask, ...]) -> tuple[PregelTask, ...]:
    return tuple([task._replace(result=task.result and _values(task.result)) for task in held])


def _all_parts(value: Any) -> Any:
    """The snapshot that another one stands for; anything else as it is."""
    if not isinstance(value, Unread):
        return value
    return StateSnapshot(*[getattr(value, name) for name in StateSnapshot._fields])


def _of_all_parts(name: str) -> Callable[..., Any]:
    method = getattr(StateSnapshot, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*map(_all_parts, args), **kwargs)

    return call


for _name, _value in {
    "values": _Part("values", _values),
    "tasks": _Part("tasks", _tasks),
    "_make": StateSnapshot._make,
    **{name: _of_all_parts(name) for name in _OF_ALL_PARTS},
}.items():
    setattr(Unread, _name, _value)
for _name in ("__module__", "__name__", "__qualname__"):
    setattr(Unread, _name, getattr(StateSnapshot, _name))

__all__ = ["Unread"]
