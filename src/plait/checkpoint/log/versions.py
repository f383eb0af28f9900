"""What a session remembers of each channel's last version, and what a new one stores.

The old side of a difference is an own shallow copy with a stamp per item, never the object that a
node holds: nodes mutate theirs.
"""

from __future__ import annotations

from itertools import compress, count
from operator import is_, is_not
from typing import Any, cast

from plait.checkpoint.log.records import (
    ALL,
    DICT_PATCH,
    ENTIRE,
    PUT,
    SINGLE,
    WHOLE,
    Data,
    Longer,
    Ref,
    is_list,
)
from plait.checkpoint.log.seen import Seen
from plait.checkpoint.log.seen_dicts import SeenDict
from plait.checkpoint.serde import Codec
from plait.engine.records import CONTAINERS, new_tuple

Run = tuple[bytes, int, int]
"""(version, start, count): a piece of the items that one record holds."""

ROW = 64
"""About what a row costs beside its data."""
SMALL = 96
"""Values up to this size are not worth a reference or a difference."""
WORTH = 512
"""Bytes of a list from which on it is borrowed, and looked for in what tasks write."""


_PATIENCE = 64
"""What was all new each time is looked at again after so many times, at the latest."""


def may_keep(lost: int) -> bool:
    """Whether to look for what may have stayed, after a value was all new so many times.

    Less and less often, but so that what was not looked for is never more than what was.
    """
    return lost & (lost + 1) == 0 or lost % _PATIENCE == 0


class Point:
    """A checkpoint as later ones build on it: its map of channels, its distance to a full map."""

    __slots__ = ("anchor", "depth", "id", "map")

    def __init__(self, id: bytes, anchor: bytes, depth: int, map: dict[str, bytes]) -> None:
        self.id = id
        self.anchor = anchor
        self.depth = depth
        self.map = map

    def copy(self) -> Point:
        """The same, to move on."""
        return Point(self.id, self.anchor, self.depth, self.map.copy())


class Version:
    """What a session remembers of a channel's last version: here, only which it is."""

    __slots__ = ("anchor", "depth", "id")

    def __init__(self, id: bytes, anchor: bytes, depth: int) -> None:
        self.id = id
        self.anchor = anchor
        """The version that a reader starts from: the last whole value or manifest."""
        self.depth = depth
        """How many patches away the anchor is."""


class Digest(bytes):
    """Stands for a value that may change in place: what its bytes digest to."""


class ValueVersion(Version):
    """The last version of a large text, or of a large object."""

    __slots__ = ("content",)

    def __init__(self, id: bytes, content: str | bytes | Digest) -> None:
        super().__init__(id, id, 0)
        self.content = content

    def holds(self, content: str | bytes | Digest) -> bool:
        """Whether this is its content."""
        return type(content) is type(self.content) and content == self.content


class ListVersion(Version):
    """The last version of a list."""

    __slots__ = ("lost", "runs", "seen", "size", "written")

    def __init__(
        self, id: bytes, anchor: bytes, depth: int, seen: Seen, runs: list[Run], size: int,
        written: int, lost: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(id, anchor, depth)
        self.seen = seen
        self.runs = runs
        """Where the items are stored, in order."""
        self.size = size
        """About how many bytes the items take."""
        self.written = written
        """Bytes of items written since the list was last whole, with that."""
        self.lost = lost
        """How many versions up to this one, one after another, kept next to nothing of the last."""


class DictVersion(Version):
    """The last version of a dict."""

    __slots__ = ("lost", "seen", "size", "written")

    def __init__(
        self, id: bytes, anchor: bytes, depth: int, seen: SeenDict, size: int, written: int,
        lost: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(id, anchor, depth)
        self.seen = seen
        self.size = size
        self.written = written
        self.lost = lost
        """As of `ListVersion`."""


class Encoded:
    """A version ready to be stored."""

    __slots__ = ("_places", "body", "fresh", "kind", "payload", "value", "version")

    def __init__(
        self, kind: int, payload: bytes, version: Version, value: Any, fresh: Any,
        body: bytes,
    ) -> None:  # fmt: skip
        self._places: dict[int, int] | None = None
        """Where each of many fresh items lies first, by its identity, once it was asked for."""
        self.kind = kind
        self.payload = payload
        self.version = version
        self.value = value
        self.fresh = fresh
        """The items that this record holds, for a list; what it sets, for a patch of a dict."""
        self.body = body
        """Their encoding."""

    def find(self, value: Any, channel: str, codec: Codec) -> Data:
        """What to store of a task's write: where this version holds the same, or its bytes."""
        same = _holds_the_same(value, self.value)
        if same and self.kind != WHOLE:
            return Ref(channel, self.version.id, 0, ALL)
        kind: type[Any] = value.__class__
        if kind is list and len(value) > len(self.fresh or ()):
            begun = beginning(codec, value, channel, self.version)
            if begun is not None:
                return begun
        if len(self.body) <= SMALL:
            return codec.dumps(value)
        if same:
            return Ref(channel, self.version.id, 0, ENTIRE)
        if self.kind == DICT_PATCH:
            if _is_same(value, self.fresh):
                return Ref(channel, self.version.id, 0, PUT)
            return codec.dumps(value)
        fresh = self.fresh
        if fresh:
            spot = self._spot(fresh, value)
            if spot is not None:
                return new_tuple(Ref, (channel, self.version.id, *spot))
        data = codec.dumps(value)
        if data == self.body:
            if fresh is not None:
                return Ref(channel, self.version.id, 0, len(fresh))
            return Ref(channel, self.version.id, 0, ENTIRE)
        if fresh and len(fresh) == 1 and b"\x91" + data == self.body:  # a list of that one item
            return Ref(channel, self.version.id, 0, SINGLE)
        return data

    def _spot(self, fresh: list[Any], value: Any) -> tuple[int, int] | None:
        """Where `value`, an item or a list of items, lies among the fresh items, by identity."""
        if not is_list(value):
            place = 0 if fresh[0] is value else self._place(fresh, value)
            return None if place is None else (place, SINGLE)
        length = len(value)
        if length == len(fresh) and all(map(is_, value, fresh)):
            return 0, length
        place = self._place(fresh, value[0]) if value else None
        if place is None:
            return None
        piece = fresh[place : place + length]
        return (place, length) if len(piece) == length and all(map(is_, piece, value)) else None

    def _place(self, fresh: list[Any], item: Any) -> int | None:
        """Where an item lies first: many tasks of a super-step ask, each for its own."""
        places = self._places
        if places is None:
            last = len(fresh) - 1
            places = self._places = {id(each): last - n for n, each in enumerate(reversed(fresh))}
        return places.get(id(item))


class Unchanged:
    """A value that is the same as at its last version: nothing is stored but where that is."""

    __slots__ = ("value", "version")

    def __init__(self, value: Any, version: bytes) -> None:
        self.value = value
        self.version = version

    def find(self, value: Any, channel: str, codec: Codec) -> bytes | Ref:
        """As of `Encoded`."""
        if _holds_the_same(value, self.value) and (type(value) not in CONTAINERS or value):
            return Ref(channel, self.version, 0, ALL)
        return codec.dumps(value)


def beginning(
    codec: Codec, value: list[Any], channel: str, version: Version | None
) -> Longer | None:
    """What to store of a list that begins as a version of a channel does, if that is much: tasks of
    one super-step may each return all that was there, and something new."""
    if type(version) is not ListVersion or version.size < WORTH:
        return None
    held = version.seen.items
    shorter = min(len(held), len(value))
    alike = next(compress(count(), map(is_not, held, value)), shorter)
    if alike * version.size < WORTH * len(held):
        return None
    if not Seen(value[:alike], codec).begins(version.seen):
        return None
    return Longer(channel, version.id, alike, codec.dumps(value[alike:]))


def _holds_the_same(value: Any, other: Any) -> bool:
    """Whether two values are one, or lists of the same objects, as a nested graph returns."""
    if value is other:
        return True
    kind: type[Any] = value.__class__
    if kind is not list or not is_list(other) or len(value) != len(other):
        return False
    return all(map(is_, value, other))


def _is_same(value: Any, put: dict[Any, Any] | None) -> bool:
    """Whether a write is what a patch sets, by identity."""
    if type(value) is not dict or put is None:
        return False
    items = cast("dict[Any, Any]", value)
    return [*items] == [*put] and all(map(is_, items.values(), put.values()))
