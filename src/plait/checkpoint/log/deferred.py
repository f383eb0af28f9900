"""Records that are sealed when they are first read, for rows that never leave the process.

A saver in memory need not turn into bytes what cannot change: a number, a text, the engine's own
record of what runs next, and its own copy of a small list or dict of such values. Such a record
keeps its parts. Whoever asks for its bytes gets the same sealed ones as from any other saver;
whoever reads a thread in this process (`live` requests) gets the parts, and copies what is a
container (`given`). Whatever else a program could still change is encoded at once, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from plait.checkpoint.log.versions import SMALL
from plait.engine.records import CONTAINERS, NewCheckpoint, TaskWrites, given

SETTLED = frozenset({type(None), bool, int, float})
TEXTS = frozenset({str, bytes})
FIXED = SETTLED | TEXTS
"""Types of values that cannot change."""
_SHORT = 24
"""Texts up to this length never are references, however their characters encode."""
_FEW = 8
"""Containers of up to so many values are copied, where they are small (`SMALL`) when encoded."""
_NUMBER = 9
"""The most bytes that a number takes."""


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
    """Whether nothing that a commit was given can change any more.

    If so, each small list or dict in it is a copy of its own from now on.
    """
    if not _all_settled(checkpoint.changed.values()) or not settled_facts(checkpoint):
        return False
    for task in writes:
        if task.merge:
            return False
        for _, value in task.writes:
            if type(value) not in SETTLED and not _all_settled((value,)):
                return False
    if not CONTAINERS.isdisjoint(map(type, checkpoint.changed.values())):
        checkpoint.changed = {name: given(value) for name, value in checkpoint.changed.items()}
    for task in writes:
        for _, value in task.writes:
            if type(value) in CONTAINERS:
                task.writes = [(channel, given(value)) for channel, value in task.writes]
                break
    return True


def settled_facts(checkpoint: NewCheckpoint) -> bool:
    """Whether a checkpoint's metadata and frontier cannot change any more."""
    if "sends" in checkpoint.frontier:
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

    >>> _all_settled([1, "short"]), _all_settled([[1], {"a": 1}]), _all_settled([[[1]]])
    (True, True, False)
    """
    if SETTLED.issuperset(map(type, values)):
        return True
    for value in values:
        kind = cast("type[Any]", type(value))
        if kind in SETTLED or (kind in TEXTS and len(value) <= _SHORT):
            continue
        if kind not in CONTAINERS or not _is_small(value):
            return False
    return True


def _is_small(container: list[Any] | dict[Any, Any]) -> bool:
    """Whether a list or dict holds few values that cannot change, in few bytes."""
    if len(container) > _FEW:
        return False
    size = 1
    if type(container) is dict:
        for key in container:
            if type(key) is not str:
                return False
            size += _size(key)
        container = list(container.values())
    for value in container:
        kind = cast("type[Any]", type(value))
        if kind in SETTLED:
            size += _NUMBER
        elif kind in TEXTS:
            size += _size(value)
        else:
            return False
    return size <= SMALL


def _size(text: str | bytes) -> int:
    """The most bytes that a text takes."""
    return 2 + len(text) * (1 if text.isascii() else 4)
