"""LangGraph's port over the log: whole checkpoints put and got, as plans.

A checkpoint that came through `put` keeps what the peer's shape carries besides values (versions,
versions seen) in its frontier under `PORT`, and gives it back as it was. A checkpoint of a plait
run has the ids of the checkpoints that wrote its channels as their versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from plait.checkpoint.base import (
    LATEST_VERSION,
    WRITES_IDX_MAP,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from plait.checkpoint.base.port import NewCheckpoint, Plan, Snapshot, Stored, TaskWrites
from plait.checkpoint.log.keys import pack, unpack
from plait.checkpoint.log.looking import PAGE
from plait.checkpoint.log.pages import PageReader, Rows
from plait.checkpoint.log.reader import LaneReader, all_live, reads_live
from plait.checkpoint.log.recent import Recent
from plait.checkpoint.log.records import CheckpointFrame, Data
from plait.checkpoint.log.requests import (
    CheckpointRow,
    Head,
    LaneRow,
    ListNewest,
    Newest,
    ReadHead,
    ReadLane,
    WriteRow,
)
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.serde import Codec
from plait.engine.records import id_of, snapshot_of
from plait.errors import ConfigError

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig

PORT = "__port__"
_LAST = b"\xff\xff"
_MIRROR = bytes(reversed(range(256)))


def lane_of(config: RunnableConfig) -> tuple[str, str]:
    """The thread and namespace that a config names.

    Raises:
        ConfigError: It names no thread.
    """
    configurable = cast("Mapping[str, Any]", config).get("configurable", {})
    thread_id = configurable.get("thread_id")
    if thread_id is None:
        raise ConfigError(
            "The config names no thread. Pass "
            '{"configurable": {"thread_id": "..."}}; any text that names the conversation will do.'
        )
    return str(thread_id), configurable.get("checkpoint_ns") or ""


def next_version(current: str | int | float | None) -> str:
    """The version that follows another: a number that sorts as text.

    >>> next_version(None) < next_version(next_version(None))
    True
    """
    text = "0" if current is None else str(current).split(".")[0]
    return f"{int(text) + 1:032}" if text.isdigit() else f"{1:032}"


def config_of(thread_id: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    """The config that names a checkpoint."""
    return cast(
        "RunnableConfig",
        {
            "configurable": {
                "thread_id": thread_id,
                "checkpoint_ns": ns,
                "checkpoint_id": checkpoint_id,
            }
        },
    )


def _tuple(
    reader: LaneReader, snapshot: Snapshot, map: Mapping[str, bytes], frame: CheckpointFrame
) -> CheckpointTuple:
    """A stored checkpoint in the peer's shape."""
    extra = snapshot.frontier.get(PORT)
    port: dict[str, Any] = cast("dict[str, Any]", extra) if type(extra) is dict else {}
    versions = {name: unpack(key) for name, key in map.items()}
    checkpoint = {
        "v": LATEST_VERSION,
        "ts": snapshot.ts,
        "id": snapshot.id,
        "channel_values": snapshot.values,
        "channel_versions": versions,
        "versions_seen": {},
        "updated_channels": sorted(frame.changed),
        **port,
    }
    parent = snapshot.parent_id
    return CheckpointTuple(
        config_of(reader.thread_id, reader.ns, snapshot.id),
        cast("Any", checkpoint),
        cast("Any", snapshot.metadata),
        config_of(reader.thread_id, reader.ns, parent) if parent is not None else None,
        snapshot.writes,
    )


def _live_tuple(reader: LaneReader, row: CheckpointRow, live: Stored) -> CheckpointTuple:
    """A checkpoint that was read live and has made its every version, in the peer's shape."""
    frame = reader.open_checkpoint(row)
    return _tuple(reader, snapshot_of(live), frame.full or {}, frame)


def get_tuple(codec: Codec, config: RunnableConfig, recent: Recent) -> Plan[CheckpointTuple | None]:
    """The checkpoint that a config names (the newest by default), or None.

    Args:
        codec: Encodes values.
        config: What names it.
        recent: What the saver read last.
    """
    thread_id, ns = lane_of(config)
    named = get_checkpoint_id(config)
    key = pack(str(named)) if named else None
    at: Head | None = yield ReadHead(thread_id, ns, key, reads_live(codec))
    if at is None:
        return None
    lane, row, writes = at
    reader = LaneReader(thread_id, ns, codec, lane, recent)
    return (yield from _single(reader, row, writes))


def _single(
    reader: LaneReader, row: CheckpointRow, writes: Sequence[WriteRow] | None
) -> Plan[CheckpointTuple]:
    """One checkpoint in the peer's shape. `writes`: its rows, if they were read with it."""
    live = None if writes is None else all_live(row, writes)
    if live is not None:
        return _live_tuple(reader, row, live)
    snapshot, point, frame = yield from reader.entry(row, writes)
    return _tuple(reader, snapshot, point.map, frame)


def put(
    session: LogSession,
    config: RunnableConfig,
    checkpoint: Mapping[str, Any],
    metadata: Any,
    new_versions: Mapping[str, Any],
) -> Plan[RunnableConfig]:
    """Store a whole checkpoint; channels that did not change are shared with the parent's."""
    thread_id, ns = session.thread_id, session.ns
    parent = get_checkpoint_id(config)
    values: dict[str, Any] = dict(checkpoint["channel_values"])
    port = {
        name: value
        for name, value in checkpoint.items()
        if name not in ("id", "ts", "channel_values")
    }
    known = yield from session.stand_at(parent)
    new = NewCheckpoint(
        id=checkpoint["id"],
        parent_id=parent,
        ts=checkpoint["ts"],
        metadata=cast("dict[str, Any]", get_checkpoint_metadata(config, metadata)),
        frontier={PORT: port},
        changed={k: v for k, v in values.items() if k in new_versions or k not in known},
        removed=[name for name in known if name not in values],
    )
    lane: LaneRow | None = yield ReadLane(thread_id, ns)
    newest = lane is None or lane.head is None or lane.head <= pack(new.id)
    yield from session.commit(new, newest=newest)
    return config_of(thread_id, ns, new.id)


def put_writes(
    session: LogSession,
    config: RunnableConfig,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
) -> Plan[None]:
    """Store what a task wrote: reserved channels replace, other positions stay as they were."""
    checkpoint_id = get_checkpoint_id(config)
    if not checkpoint_id:
        raise ConfigError("put_writes() needs a config that names a checkpoint (checkpoint_id).")
    task = TaskWrites(str(checkpoint_id), task_id, task_path, writes, merge=True)
    return session.save_merged(task, _join)


def _join(stored: list[tuple[str, Data]], new: list[tuple[str, Data]]) -> list[tuple[str, Data]]:
    """A task's writes after more came in."""
    replaced = {channel for channel, _ in new if channel in WRITES_IDX_MAP}
    plain = [each for each in stored if each[0] not in WRITES_IDX_MAP]
    more = [each for each in new if each[0] not in WRITES_IDX_MAP]
    kept = [each for each in stored if each[0] in WRITES_IDX_MAP and each[0] not in replaced]
    return [
        *plain,
        *more[len(plain) :],
        *kept,
        *(each for each in new if each[0] in WRITES_IDX_MAP),
    ]


class _Cursor:
    """Where the walk through one lane stands."""

    __slots__ = ("_begun", "_pages", "_reader", "_wanted", "before", "ended", "lane", "rows")

    def __init__(
        self,
        reader: LaneReader,
        before: bytes | None,
        wanted: Mapping[str, Any],
        *,
        in_memory: bool,
    ) -> None:
        self.lane = reader.lane
        self._reader = reader
        self._pages = PageReader(reader, in_memory=in_memory, placed=True)
        self._wanted = wanted
        self._begun = False
        """Whether any was taken. The first of a lane, if it is taken alone, is most often its head,
        of which more is known (see `Recent`)."""
        self.before = before
        self.rows: Rows = []
        """Newest first: those that were not taken yet."""
        self.ended = False

    def fill(self, size: int) -> Plan[bytes | None]:
        """The newest checkpoint that was not taken yet; reads up to `size` rows if none is here."""
        if not self.rows and not self.ended:
            self.rows = yield from self._pages.rows(self.before, size, self._wanted)
            self.ended = len(self.rows) < size
        return self.rows[0][0].id if self.rows else None

    def above(self, first: bytes) -> int:
        """How many of the rows that are here come before this one of another lane; at least 1."""
        newer = sum(1 for _ in takewhile(lambda row: row[0].id > first, self.rows))
        return max(1, newer)

    def take(self, count: int, most: int | None) -> Plan[list[CheckpointTuple]]:
        """Take so many rows; of these up to `most` checkpoints that hold what is wanted."""
        taken, self.rows = self.rows[:count], self.rows[count:]
        first, self._begun = not self._begun, True
        self.before = taken[-1][0].id
        if first and count == 1 and not self._wanted:
            return [(yield from _single(self._reader, *taken[0]))]
        found = yield from self._pages.read(taken, self._wanted, most)
        rows = {row.id: row for row, _ in taken}
        return [self._tuple(rows[pack(id_of(each))], each) for each in found]

    def _tuple(self, row: CheckpointRow, found: Stored) -> CheckpointTuple:
        place = self._pages.places.get(row.id)
        if place is not None:
            return _tuple(self._reader, snapshot_of(found), place.map, place.frame)
        return _live_tuple(self._reader, row, found)


_Turn: TypeAlias = "tuple[bytes, int, bytes, _Cursor]"
"""What its place in the heap follows from, a lane, its newest checkpoint, and its cursor."""


def _turn(newest: bytes, cursor: _Cursor) -> _Turn:
    return newest.translate(_MIRROR) + _LAST, cursor.lane, newest, cursor


class Walk:
    """Checkpoints of one lane, one thread or all threads, newest first, page by page."""

    def __init__(
        self,
        codec: Codec,
        config: RunnableConfig | None,
        filter: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
        *,
        recent: Recent,
        in_memory: bool,
    ) -> None:
        self._codec = codec
        self._config = config
        self._wanted = dict(filter or {})
        older = get_checkpoint_id(before) if before is not None else None
        self._before = pack(str(older)) if older else None
        self._left = limit
        self._recent = recent
        self._in_memory = in_memory
        self._heap: list[_Turn] | None = None
        """Lanes by the newest checkpoint that was not taken yet. Of those that it is not the turn
        of yet, no more was read than that."""
        self.done = limit is not None and limit <= 0

    def page(self) -> Plan[list[CheckpointTuple]]:
        """The next checkpoints; sets `done` when there are no more."""
        named = get_checkpoint_id(self._config) if self._config is not None else None
        if named:
            return (yield from self._one(pack(str(named))))
        if self._heap is None:
            self._heap = yield from self._begun()
        heap = self._heap
        page: list[CheckpointTuple] = []
        size = PAGE if self._left is None else min(self._left, PAGE)
        while heap and len(page) < size:
            cursor = heappop(heap)[3]
            if (yield from cursor.fill(self._rows_at_once())) is None:
                continue
            most = None if self._left is None else self._left - len(page)
            # Rows of other lanes may come between.
            count = cursor.above(heap[0][2]) if heap else len(cursor.rows)
            if most is not None and not self._wanted:
                count = min(count, most)
            taken = yield from cursor.take(count, most)
            page += taken
            if most is None or len(taken) < most:
                newest = yield from cursor.fill(self._rows_at_once())
                if newest is not None:
                    heappush(heap, _turn(newest, cursor))
        if self._left is not None:
            self._left -= len(page)
        self.done = not heap or self._left == 0
        return page

    def _one(self, key: bytes) -> Plan[list[CheckpointTuple]]:
        """The one checkpoint that the config names, in whichever of the lanes it is."""
        self.done = True
        if self._before is not None and key >= self._before:
            return []
        page: list[CheckpointTuple] = []
        for lane in (yield from self._lanes(key + b"\0", None)):
            cursor = self._cursor(lane)
            if lane.id == key and (yield from cursor.fill(1)) == key:
                page += yield from cursor.take(1, None)
        return page[: self._left]

    def _begun(self) -> Plan[list[_Turn]]:
        """All lanes, at their newest checkpoints; of a few checkpoints, no more than may be."""
        lanes = yield from self._lanes(self._before, None if self._wanted else self._left)
        # Newest first is a heap already.
        return [_turn(lane.id, self._cursor(lane)) for lane in lanes]

    def _cursor(self, lane: Newest) -> _Cursor:
        reader = LaneReader(lane.thread_id, lane.ns, self._codec, lane.lane, self._recent)
        return _Cursor(reader, lane.id + b"\0", self._wanted, in_memory=self._in_memory)

    def _rows_at_once(self) -> int:
        return PAGE if self._left is None or self._wanted else min(PAGE, self._left)

    def _lanes(self, before: bytes | None, limit: int | None) -> Plan[list[Newest]]:
        """The lanes to walk: one namespace if the config names one, else all of its thread."""
        if self._config is None:
            return (yield ListNewest(None, None, before, limit))
        thread_id, _ = lane_of(self._config)
        configurable = cast("Mapping[str, Any]", self._config)["configurable"]
        return (yield ListNewest(thread_id, configurable.get("checkpoint_ns"), before, limit))
