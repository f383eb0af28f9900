"""Long lists as they were read last, so that reading them again costs what is new.

A thread that goes on is loaded at every turn: its whole conversation, of which two messages are
new. Versions are immutable, so what was read, proved and taken apart once need not be again. What
is kept are recipes (`serde.Recipes`): each load makes new objects, as from storage.

Nothing is taken from here on trust in an id alone: the record of the version that is asked for, or
that a newer one stands on, is read from the database each time, and must be the one that was kept,
digest and all.
"""

from __future__ import annotations

from typing import NamedTuple

from plait.checkpoint.log.versions import Run
from plait.checkpoint.serde import Recipes

ROOM = 16 << 20
"""How many bytes of items a saver keeps recipes of."""
LONG = 16
"""Lists that lie in so many pieces are worth it."""


class Kept(NamedTuple):
    """A version of a list."""

    id: bytes
    proof: bytes
    """What tells its record from all others."""
    anchor: bytes
    depth: int
    recipes: Recipes
    runs: list[Run]
    size: int
    written: int


class Recent:
    """The lists of one saver's channels, within `room` bytes: which were not used for long, go.

    Threads may share it: each step is one that the interpreter does not divide.

    >>> recent = Recent(room=100)
    >>> recent.keep(1, "a", Kept(b"1", b"", b"1", 0, Recipes(), [], 60, 60))
    >>> recent.keep(1, "b", Kept(b"1", b"", b"1", 0, Recipes(), [], 60, 60))
    >>> recent.find(1, "a"), recent.find(1, "b").size
    (None, 60)
    """

    __slots__ = ("_lists", "_room")

    def __init__(self, room: int = ROOM) -> None:
        self._lists: dict[tuple[int, str], Kept] = {}
        self._room = room

    def find(self, lane: int, channel: str) -> Kept | None:
        """The version of a channel that was read last."""
        kept = self._lists.pop((lane, channel), None)
        if kept is not None:
            self._lists[lane, channel] = kept  # the newest is the last
        return kept

    def keep(self, lane: int, channel: str, kept: Kept) -> None:
        """Keep a version in place of an older one."""
        lists = self._lists
        lists.pop((lane, channel), None)
        if kept.size > self._room:
            return
        lists[lane, channel] = kept
        taken = sum(each.size for each in list(lists.values()))
        for place, old in list(lists.items()):
            if taken <= self._room:
                break
            if lists.pop(place, None) is not None:
                taken -= old.size

    def drop(self, lane: int) -> None:
        """Keep nothing of a lane any more: it was deleted, or pruned."""
        for place in list(self._lists):
            if place[0] == lane:
                self._lists.pop(place, None)
