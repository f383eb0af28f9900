"""A list as a session last saw it: what the next version is compared with.

Most items of a long list cannot have changed at all: immutables, and messages that hold nothing
mutable, which their stamp seals and which tell when a seal breaks (`__plait_changes__`). A list
that is the old one, with perhaps more at its end, is seen to be so without stamping those again.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from plait.checkpoint.log.stamps import IMMUTABLE, Stamp, stamps_of
from plait.checkpoint.serde import Codec

_NEVER: list[Any] = [None]
"""Stands for the changes of items that never change."""


class Seen:
    """An own shallow copy of a list, with a stamp per item."""

    __slots__ = ("_as_of", "_changes", "_loose", "items", "kinds", "stamps")

    def __init__(self, value: list[Any], codec: Codec) -> None:
        self.items = value.copy()
        self.kinds = set(map(type, value))
        """The types of the items."""
        self._changes = _changes_of(self.kinds)
        self._as_of: Any = self._changes[0] if self._changes is not None else None
        self.stamps: list[Stamp] = stamps_of(value, self.kinds, codec)
        self._loose = _loose_of(value, 0) if self._changes is not None else []

    def grow(self, value: list[Any], codec: Codec) -> bool:
        """Whether `value` is this list as it was seen, with perhaps more at its end: now seen, too.

        False says nothing: then look at it anew.
        """
        items, changes = self.items, self._changes
        length = len(items)
        if changes is None or changes[0] is not self._as_of or len(value) < length:
            return False
        if not all(map(is_, items, value)) or self._loosened(codec):
            return False
        fresh = value[length:]
        if fresh:
            kinds = set(map(type, fresh))
            if not kinds <= self.kinds:
                if _changes_of(kinds) is not changes:
                    return False
                self.kinds |= kinds
            self.stamps += stamps_of(fresh, kinds, codec)
            items += fresh
            self._loose += _loose_of(items, length)
        return True

    def _loosened(self, codec: Codec) -> bool:
        """Whether an item that may change without telling has changed."""
        loose, items, stamps = self._loose, self.items, self.stamps
        if not loose:
            return False
        now = stamps_of([items[n] for n in loose], self.kinds, codec)
        return now != [stamps[n] for n in loose]


def _changes_of(kinds: set[type]) -> list[Any] | None:
    """What holds another object once a sealed item was changed (None: nothing seals these)."""
    for kind in kinds - IMMUTABLE:
        changes: list[Any] | None = getattr(kind, "__plait_changes__", None)
        if changes is not None:
            return changes
    return _NEVER if kinds <= IMMUTABLE else None


def _loose_of(items: Sequence[Any], first: int) -> list[int]:
    """Where items from `first` on stand that may change without telling; they were stamped."""
    return [
        place
        for place in range(first, len(items))
        if items[place].__class__ not in IMMUTABLE
        and not getattr(items[place], "__plait_revision__", 0) & 1
    ]
