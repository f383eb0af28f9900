"""Records that are sealed when they are first read, for rows that never leave the process.

A saver in memory need not turn into bytes what cannot change: a number, a text, the engine's own
record of what runs next. Such a record keeps its parts; whoever reads it gets the same sealed bytes
as from any other saver. Whatever a program could still change is encoded at once, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from plait.engine.records import NewCheckpoint, TaskWrites

_SETTLED = frozenset({type(None), bool, int, float})


def is_settled(value: Any) -> bool:
    """Whether a value cannot change and is small enough to be stored where it is written.

    >>> is_settled(1), is_settled("short"), is_settled([1])
    (True, True, False)
    """
    if type(value) in _SETTLED:
        return True
    return type(value) in (str, bytes) and len(cast("str | bytes", value)) <= _SHORT


_SHORT = 24
"""Texts up to this length never are references, however their characters encode."""


class Deferred:
    """A record to be made when it is first read."""

    __slots__ = ("_arguments", "_make")

    def __init__(self, make: Callable[..., bytes], *arguments: Any) -> None:
        self._make = make
        self._arguments = arguments

    def record(self) -> bytes:
        """The sealed bytes."""
        return self._make(*self._arguments)


def settled(checkpoint: NewCheckpoint, writes: Sequence[TaskWrites]) -> bool:
    """Whether nothing that a commit was given can change any more."""
    plain = _SETTLED
    for value in checkpoint.changed.values():
        if type(value) not in plain and not is_settled(value):
            return False
    for task in writes:
        if task.merge:
            return False
        for _, value in task.writes:
            if type(value) not in plain and not is_settled(value):
                return False
    if "sends" in checkpoint.frontier:
        return False
    for key, value in checkpoint.metadata.items():
        if type(value) not in plain and not is_settled(value) and (key != "parents" or value):
            return False
    return True
