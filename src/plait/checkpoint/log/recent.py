"""Long lists and dicts as they were read or written last: reading them again costs what is new.

A thread that goes on is loaded at every turn: its whole conversation, of which two messages are
new. Versions are immutable, so what was read, proved and taken apart once need not be again, nor
what this process wrote itself. What is kept are recipes (`serde.Recipes`) and bytes: each load
makes new objects, as from storage.

Nothing is taken from here on trust in an id alone: the record of the version that is asked for, or
that a newer one stands on, is read from the database each time, and must be the one that was kept,
digest and all. For small values, and for a short checkpoint that is shown again, the record of the
checkpoint does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple, TypeVar, cast

from plait.checkpoint.log.deferred import SETTLED, TEXTS, Deferred
from plait.checkpoint.log.records import WHOLE, CheckpointFrame
from plait.checkpoint.log.requests import CheckpointRow
from plait.checkpoint.log.versions import Encoded, ListVersion, Point, Run, Version
from plait.checkpoint.serde import KeyedRecipes, Recipes
from plait.checkpoint.serde.envelope import proof
from plait.common.forks import renew_in_child
from plait.engine.records import NewCheckpoint

ROOM = 16 << 20
"""How many bytes of items a saver keeps recipes of."""
ROOM_BESIDE = 4 << 20
"""The same of a saver that has the records in memory, too."""
LONG = 16
"""Lists and dicts that lie in so many pieces are worth it."""
_MANY = 64
"""Lists of so many items, too."""
LANES = 256
"""Of so many lanes the last checkpoint is kept, and small values."""
CHANNELS = 256
"""Of lanes with more channels, nothing is kept but lists and dicts."""
SHORT = 256
"""Texts and bytes up to this length are small."""
T = TypeVar("T")


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
    more: tuple[bytes, ...] = ()
    """Lists, packed, whose items come after those of the recipes."""


class KeptDict(NamedTuple):
    """A version of a dict."""

    id: bytes
    proof: bytes
    anchor: bytes
    depth: int
    recipes: KeyedRecipes
    size: int
    written: int


@dataclass(slots=True)
class KeptHead:
    """A checkpoint that was read: its record, its map of channels, and what else was made of it."""

    proof: Any
    """What tells its record from all others: bytes, or a record that was read live."""
    frame: CheckpointFrame
    point: Point
    small: dict[str, Any] = field(default_factory=dict[str, Any])
    """Those of its values that were read, are small, and cannot change."""
    made: NewCheckpoint | None = None
    """Its facts, if somebody looked at them and they cannot change."""
    shown: bytes | None = None
    """It in the peer's shape, packed, if it was asked for more than once; empty if that is long, so
    that nobody packs it again."""
    apart: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """The versions that are not in there, since they are long: None stands in their place."""


class Constant(NamedTuple):
    """A small value that cannot change."""

    id: bytes
    """Its version."""
    proof: bytes | None
    """None: its record was read live."""
    value: Any


class Recent:
    """The lists and dicts of one saver's channels, within `room` bytes.

    Which were not used for long, go.

    Threads may share it.

    Args:
        room: so many bytes of items.

    >>> recent = Recent(room=100)
    >>> recent.keep(1, "a", Kept(b"1", b"", b"1", 0, Recipes(), [], 60, 60))
    >>> recent.keep(1, "b", Kept(b"1", b"", b"1", 0, Recipes(), [], 60, 60))
    >>> recent.find(1, "a"), recent.find(1, "b").size
    (None, 60)
    """

    __slots__ = (
        "__weakref__",
        "_constants",
        "_heads",
        "_lists",
        "_lock",
        "_taken",
        "room",
    )

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self.after_fork()
        renew_in_child(self)

    def after_fork(self) -> None:
        """Nothing is kept: at the start, and where another thread may have been changing it."""
        self._lists: dict[tuple[int, str], Kept | KeptDict] = {}
        self._heads: dict[int, KeptHead] = {}
        self._constants: dict[int, dict[str, Constant]] = {}
        self._lock = Lock()
        self._taken = 0

    def find(self, lane: int, channel: str) -> Kept | KeptDict | None:
        """The version of a channel that was read or written last."""
        with self._lock:
            kept = self._lists.pop((lane, channel), None)
            if kept is not None:
                self._lists[lane, channel] = kept  # the newest is the last
            return kept

    def keep(self, lane: int, channel: str, kept: Kept | KeptDict) -> None:
        """Keep a version in place of an older one."""
        with self._lock:
            self._drop((lane, channel))
            if kept.size > self.room:
                return
            self._lists[lane, channel] = kept
            self._taken += kept.size
            while self._taken > self.room:
                self._drop(next(iter(self._lists)))

    def head(self, lane: int) -> KeptHead | None:
        """The checkpoint of a lane that was read last."""
        return self._heads.get(lane)

    def head_of(self, lane: int, row: CheckpointRow) -> KeptHead | None:
        """What is kept of just this checkpoint, if it is stored as it was read."""
        head = self._heads.get(lane)
        same = head is not None and head.point.id == row.id and head.proof == proof_of(row)
        return head if same else None

    def keep_head(self, lane: int, head: KeptHead) -> None:
        """Keep a checkpoint in place of an older one, if its map is not too long."""
        if len(head.point.map) <= CHANNELS:
            with self._lock:
                _put_last(self._heads, lane, head)

    def constants(self, lane: int) -> dict[str, Constant]:
        """By channel of a lane the small value that was read last: to be looked up, and put."""
        with self._lock:
            return _put_last(self._constants, lane, self._constants.get(lane, {}))

    def drop(self, lane: int) -> None:
        """Keep nothing of a lane any more: it was deleted, or pruned."""
        with self._lock:
            self._heads.pop(lane, None)
            self._constants.pop(lane, None)
            for place in [place for place in self._lists if place[0] == lane]:
                self._drop(place)

    def _drop(self, place: tuple[int, str]) -> None:
        old = self._lists.pop(place, None)
        if old is not None:
            self._taken -= old.size


def proof_of(row: CheckpointRow) -> Any:
    """What tells the record of a checkpoint from all others; of a record that was read live, which
    nobody changes, itself."""
    record: Any = row.record
    return record if type(record) is Deferred else proof(record)


def is_long(pieces: int, items: int) -> bool:
    """Whether a list that lies in so many pieces, and has so many items, is worth to be kept."""
    return pieces >= LONG or items >= _MANY


def is_small(value: Any) -> bool:
    """Whether a value is small, and cannot change.

    >>> is_small("text"), is_small(1 << 100), is_small([])
    (True, True, False)
    """
    kind = cast("type[Any]", type(value))
    return kind in SETTLED or (kind in TEXTS and len(value) <= SHORT)


def _put_last(kept: dict[int, T], lane: int, value: T) -> T:
    """Put a value as the newest, and drop the oldest if there are too many."""
    kept.pop(lane, None)
    kept[lane] = value
    if len(kept) > LANES:
        del kept[next(iter(kept))]
    return value


class Written:
    """What a run writes of its lists, to be kept when it ends: then nobody reads it from storage.

    Only lists that grow at their end are followed, as conversations do; of others, a read keeps
    what it finds.
    """

    __slots__ = ("_lists", "_recent")

    def __init__(self, recent: Recent) -> None:
        self._recent = recent
        self._lists: dict[str, _Growing] = {}

    def note(self, lane: int | None, name: str, old: Version | None, new: Encoded) -> None:
        """A channel is written: its last version (None: there is none known), and the next."""
        version = new.version
        if type(version) is not ListVersion:
            return
        growing = self._lists.pop(name, None)
        if version.size > self._recent.room:
            return
        if new.kind == WHOLE:
            growing = _Growing(version.runs, Recipes(), [])
        elif type(old) is not ListVersion or version.runs is not old.runs:
            return  # more than an append
        elif growing is None or growing.runs is not old.runs:
            kept = self._recent.find(lane, name) if lane is not None else None
            if not isinstance(kept, Kept) or kept.id != old.id:
                return
            growing = _Growing(version.runs, kept.recipes, [*kept.more])
        growing.more.append(new.body)
        self._lists[name] = growing

    def sealed(self, rows: Sequence[tuple[str, bytes, Any]]) -> None:
        """The records of what was just noted: channel, id, and record."""
        for name, _, record in rows:
            growing = self._lists.get(name)
            if growing is not None:
                growing.record = record

    def leave(self, lane: int, versions: Mapping[str, Version]) -> None:
        """The run has stored these versions, and ends."""
        for name, growing in self._lists.items():
            version = versions.get(name)
            if type(version) is not ListVersion:
                continue
            if is_long(len(version.runs), len(version.seen.items)):
                kept = Kept(
                    version.id, proof(growing.record), version.anchor, version.depth,
                    growing.recipes, version.runs.copy(), version.size, version.written,
                    tuple(growing.more),
                )  # fmt: skip
                self._recent.keep(lane, name, kept)
        self.forget()

    def forget(self) -> None:
        """What was noted may never be stored."""
        self._lists.clear()


class _Growing:
    """A list that grows: recipes of what it held, and what was appended, packed."""

    __slots__ = ("more", "recipes", "record", "runs")

    def __init__(self, runs: list[Run], recipes: Recipes, more: list[bytes]) -> None:
        self.runs = runs
        """The pieces of the version: an append goes on with the same list of them."""
        self.recipes = recipes
        self.more = more
        self.record = b""
