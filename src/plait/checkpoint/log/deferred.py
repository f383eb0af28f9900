"""Records that are sealed when they are first read, for rows that never leave the process.

A saver in memory need not turn into bytes what cannot change: a number, a text, the engine's own
record of what runs next. Such a record keeps its parts. Whoever asks for its bytes gets the same
sealed ones as from any other saver; whoever reads a thread in this process (`live` requests) gets
the parts, and copies what is a container. Whatever a program could still change is encoded at once,
as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from plait.engine.records import NewCheckpoint, TaskWrites

_SETTLED = frozenset({type(None), bool, int, float})
_TEXTS = frozenset({str, bytes})
FIXED = _SETTLED | _TEXTS
"""Types of values that cannot change."""
_SHORT = 24
"""Texts up to this length never are references, however their characters encode."""


class Deferred:
    """A record to be made when its bytes are first read.

    Args:
        holds: what the record says, as it was handed over; readers do not change it.
        make: makes the sealed bytes, of `arguments`.
    """

    __slots__ = ("_arguments", "_make", "holds")

    def __init__(self, holds: Any, make: Callable[..., bytes], *arguments: Any) -> None:
        self.holds = holds
        self._make = make
        self._arguments = arguments

    def record(self) -> bytes:
        """The sealed bytes."""
        return self._make(*self._arguments)


def settled(checkpoint: NewCheckpoint, writes: Sequence[TaskWrites]) -> bool:
    """Whether nothing that a commit was given can change any more."""
    if "sends" in checkpoint.frontier or not _all_settled(checkpoint.changed.values()):
        return False
    for task in writes:
        if task.merge:
            return False
        for _, value in task.writes:
            if type(value) not in _SETTLED and not _all_settled((value,)):
                return False
    for key, fact in checkpoint.metadata.items():
        if type(fact) not in FIXED and (key != "parents" or not _is_map_of_texts(fact)):
            return False
    return True


def _is_map_of_texts(fact: Any) -> bool:
    if type(fact) is not dict:
        return False
    if not fact:
        return True
    for pair in cast("dict[Any, Any]", fact).items():
        if type(pair[0]) is not str or type(pair[1]) is not str:
            return False
    return True


def _all_settled(values: Iterable[Any]) -> bool:
    """Whether no value can change, and each is small enough to be stored where it is written.

    >>> _all_settled([1, "short"]), _all_settled([[1]])
    (True, False)
    """
    if _SETTLED.issuperset(map(type, values)):
        return True
    for value in values:
        kind = cast("type[Any]", type(value))
        if kind not in _SETTLED and (kind not in _TEXTS or len(value) > _SHORT):
            return False
    return True
