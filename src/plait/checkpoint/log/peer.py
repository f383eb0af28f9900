"""LangGraph's port over the log: whole checkpoints put and got, as plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from plait.checkpoint.base import (
    WRITES_IDX_MAP,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from plait.checkpoint.base.port import Live, NewCheckpoint, Plan, Snapshot, Stored, TaskWrites
from plait.checkpoint.base.serving import serving
from plait.checkpoint.log.asked import configurable_of, limit_of, mapping_of
from plait.checkpoint.log.deferred import Deferred
from plait.checkpoint.log.keys import pack, texts_of, unpack
from plait.checkpoint.log.looking import PAGE
from plait.checkpoint.log.meanwhile import sure
from plait.checkpoint.log.pages import PageReader, Place, Rows, that_may_hold, trace_of, traces_of
from plait.checkpoint.log.reader import LaneReader, all_live, fits, reads_live
from plait.checkpoint.log.reading import read_values
from plait.checkpoint.log.recent import KeptHead, Recent
from plait.checkpoint.log.records import CheckpointFrame, Data
from plait.checkpoint.log.requests import (
    CheckpointRow,
    Head,
    LaneRow,
    ListNewest,
    Newest,
    Page,
    ReadHead,
    ReadLane,
    ReadPages,
    WriteRow,
)
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.log.short import Asked, read_short
from plait.checkpoint.log.tuples import PORT, config_of, tuple_of
from plait.checkpoint.serde import Codec
from plait.constants import FRONTIER
from plait.engine.records import Unmade, given, id_of, snapshot_of
from plait.errors import ConfigError, ConfigTypeError, CorruptCheckpointError, StorageError

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig

_LAST = b"\xff\xff"
_FEW = 16
"""Rows that are read of a lane, at least, if so many are wanted."""
_SHORT = 16
"""Of a lane with more checkpoints than so many, the lists are most often long, too."""
_SHOWN = 4096
"""The most bytes of a checkpoint that is kept as it was shown."""
_MIRROR = bytes(reversed(range(256)))
_NOTHING = Page([], {})


def lane_of(config: RunnableConfig) -> tuple[str, str]:
    """The thread and namespace that a config names.

    Raises:
        ConfigError: It names no thread, or is no config.
    """
    configurable = configurable_of(config)
    thread_id = configurable.get("thread_id")
    if thread_id is None:
        raise ConfigError(
            "The config names no thread. Pass "
            '{"configurable": {"thread_id": "..."}}; any text that names the conversation will do.'
        )
    ns = configurable.get("checkpoint_ns") or ""
    if not isinstance(ns, str):
        raise ConfigTypeError(f"checkpoint_ns is a value of type {type(ns).__name__}: pass a text.")
    return str(thread_id), ns


def next_version(current: str | int | float | None) -> str:
    """The version that follows another: a number that sorts as text.

    >>> next_version(None) < next_version(next_version(None))
    True
    """
    text = "0" if current is None else str(current).split(".")[0]
    return f"{int(text) + 1:032}" if text.isdigit() else f"{1:032}"


def _tuple(
    reader: LaneReader, snapshot: Snapshot, channels: Mapping[str, bytes], frame: CheckpointFrame
) -> CheckpointTuple:
    """A stored checkpoint in the peer's shape."""
    return tuple_of(
        (reader.thread_id, reader.ns),
        snapshot.id,
        snapshot.parent_id,
        (snapshot.ts, snapshot.metadata, snapshot.frontier),
        {name: _made(value) for name, value in snapshot.values.items()},
        dict(zip(channels, map(unpack, channels.values()), strict=True)),
        frame.changed,
        [(task, channel, _made(value)) for task, channel, value in snapshot.writes],
    )


def _made(value: Any) -> Any:
    return value.made() if type(value) is Unmade else value


def _decoded(found: Stored) -> Snapshot:
    """A checkpoint that was decoded for its reader alone, so that nothing of it is copied."""
    made, values, tasks = cast("Live", found)
    writes = [
        (task.task_id, channel, given(value)) for task in tasks for channel, value in task.writes
    ]
    values = {name: _made(value) for name, value in values.items()}
    return Snapshot(
        made.id, made.parent_id, made.made_at, cast("Any", made.metadata),
        cast("Any", made.frontier), values, writes, None, {},
    )  # fmt: skip


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
    return sure(partial(_get_tuple, codec, config, recent))


def _get_tuple(
    codec: Codec, config: RunnableConfig, recent: Recent
) -> Plan[CheckpointTuple | None]:
    thread_id, ns = lane_of(config)
    named = get_checkpoint_id(config)
    key = pack(str(named)) if named else None
    at: Head | None = yield ReadHead(thread_id, ns, key, reads_live(codec))
    if at is None:
        return None
    lane, row, writes = at
    simple = not writes and reads_live(codec) and serving.get() is None
    kept = recent.head_of(lane, row) if simple else None
    if kept is not None and kept.shown:
        checkpoint, metadata = codec.loads(kept.shown)
        if kept.apart:
            reader = LaneReader(thread_id, ns, codec, lane, recent)
            values, _ = yield from read_values(reader, kept.apart, track=False, live=True)
            checkpoint["channel_values"].update(values)
        before = None if row.parent is None else config_of(thread_id, ns, unpack(row.parent))
        config = config_of(thread_id, ns, unpack(row.id))
        return CheckpointTuple(config, checkpoint, metadata, before, [])
    reader = LaneReader(thread_id, ns, codec, lane, recent)
    found = yield from _single(reader, row, writes)
    if kept is not None and kept.shown is None:  # it is read for the second time
        _keep(codec, kept, found)
    return found


def _keep(codec: Codec, kept: KeptHead, found: CheckpointTuple) -> None:
    """Keep what a checkpoint holds, as it is made once more: where that is long, without what
    cannot be known by the record of the checkpoint alone."""
    for apart in (
        {},
        {name: key for name, key in kept.point.map.items() if name not in kept.small},
    ):
        values = {**found.checkpoint["channel_values"], **dict.fromkeys(apart)}
        try:
            packed = codec.dumps([{**found.checkpoint, "channel_values": values}, found.metadata])
        except StorageError:  # a type that is read, and not written
            continue
        if len(packed) <= _SHOWN:
            kept.apart, kept.shown = apart, packed
            return
    kept.shown = b""


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
    runs: dict[str, Any] = {} if serving.get() is None else values.pop(FRONTIER, {})
    known = yield from session.stand_at(parent)
    new = NewCheckpoint(
        id=checkpoint["id"],
        parent_id=parent,
        ts=checkpoint["ts"],
        metadata=cast("dict[str, Any]", get_checkpoint_metadata(config, metadata)),
        frontier={**runs, PORT: port},
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
    run = serving.get()
    if run is not None:
        return session.save_writes(
            [TaskWrites(str(checkpoint_id), task_id, task_path, writes, merge=run.merge)]
        )
    task = TaskWrites(str(checkpoint_id), task_id, task_path, writes, merge=True)
    return session.save_merged(task, _join)


def _join(stored: list[tuple[str, Data]], new: list[tuple[str, Data]]) -> list[tuple[str, Data]]:
    """A task's writes after more came in: what became of it first, by its index."""
    replaced = {channel for channel, _ in new if channel in WRITES_IDX_MAP}
    plain = [each for each in stored if each[0] not in WRITES_IDX_MAP]
    more = [each for each in new if each[0] not in WRITES_IDX_MAP]
    kept = [each for each in stored if each[0] in WRITES_IDX_MAP and each[0] not in replaced]
    reserved = [*kept, *(each for each in new if each[0] in WRITES_IDX_MAP)]
    reserved.sort(key=lambda each: WRITES_IDX_MAP[each[0]])
    return [*reserved, *plain, *more[len(plain) :]]


class _Cursor:
    """Where the walk through one lane stands."""

    __slots__ = ("_page", "_pages", "_reader", "before", "ended", "lane", "rows", "short")

    def __init__(self, reader: LaneReader, before: bytes) -> None:
        self.lane = reader.lane
        self._reader = reader
        self._page = _NOTHING
        """What was read last."""
        self._pages: PageReader | None = None
        """Reads what is more than short."""
        self.before = before
        """Below this id lies what was not taken yet."""
        self.rows: Rows = []
        """Newest first: what was read of that."""
        self.ended = False
        """Whether that is all."""
        self.short = True
        """Whether it has few checkpoints, as far as is known, and none that `read_short` does not
        read."""

    def fill(self, page: Page, size: int) -> None:
        """Here is what comes next: up to `size` rows."""
        self._page, self.rows = page, page.rows
        self.short = self.short and len(page.rows) <= _SHORT
        self.ended = len(self.rows) < size

    @property
    def newest(self) -> bytes:
        """No checkpoint that was not taken yet is newer."""
        return self.rows[0][0].id if self.rows else self.before

    def take(self, after: bytes, most: int) -> Rows:
        """The next rows: those that come before this id of another lane, and at least one."""
        count, most = 1, min(most, len(self.rows))
        while count < most and self.rows[count][0].id > after:
            count += 1
        taken, self.rows = self.rows[:count], self.rows[count:]
        self.before = taken[-1][0].id
        return taken

    def asked(self, rows: Rows, wanted: Mapping[str, Any], traces: Sequence[bytes]) -> Asked:
        """These rows, as far as they may hold what is wanted (which leaves these traces in their
        records), and the values that they need."""
        rows = that_may_hold(rows, wanted, traces) if wanted else rows
        return Asked(self._reader, rows, self._page.kept)

    def read(
        self, rows: Rows, wanted: Mapping[str, Any], most: int | None
    ) -> Plan[dict[bytes, CheckpointTuple]]:
        """By id, up to `most` checkpoints of these rows that hold what is wanted."""
        pages = self._pages = self._pages or PageReader(self._reader, placed=True)
        found = yield from pages.read(rows, wanted, most, self._page.kept)
        by_id = dict(zip(texts_of([row.id for row, _ in rows]), rows, strict=True))
        shown: dict[bytes, CheckpointTuple] = {}
        for each in found:
            row, _ = by_id[id_of(each)]
            shown[row.id] = self._tuple(row, each, pages.places.get(row.id))
        return shown

    def begin_anew(self, page: Page) -> None:
        """Here are rows that were taken, read once more: what else is known of them may be gone."""
        self._page, self._pages = page, None

    def _tuple(self, row: CheckpointRow, found: Stored, place: Place | None) -> CheckpointTuple:
        if place is None:
            return _live_tuple(self._reader, row, found)
        live = type(cast("Any", row.record)) is Deferred
        snapshot = snapshot_of(found) if live else _decoded(found)
        return _tuple(self._reader, snapshot, place.map, place.frame)


_Turn: TypeAlias = "tuple[bytes, int, _Cursor]"
"""What its place in the heap follows from, a lane, and its cursor."""


def _turn(cursor: _Cursor) -> _Turn:
    return cursor.newest.translate(_MIRROR) + _LAST, cursor.lane, cursor


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
    ) -> None:
        self._codec = codec
        limit = limit_of(limit)
        self._config = config
        self._wanted = dict(mapping_of(filter or {}, "filter"))
        for each, name in ((config, "config"), (before, "before")):
            if each is not None:
                configurable_of(each, name)
        older = get_checkpoint_id(before) if before is not None else None
        self._before = pack(str(older)) if older else None
        self._left = limit
        self._recent = recent
        self._closed: list[Newest] | None = None
        """Lanes of which nothing was read yet, the newest last."""
        self._open: list[_Turn] = []
        """A heap: the others, by the newest checkpoint that was not taken yet."""
        self._lanes_at_once = 1
        self._rows_at_once = PAGE if limit is None else min(limit, PAGE)
        self.done = limit is not None and limit <= 0

    def page(self) -> Plan[list[CheckpointTuple]]:
        """The next checkpoints; sets `done` when there are no more."""
        named = get_checkpoint_id(self._config) if self._config is not None else None
        if named:
            return (yield from self._one(pack(str(named))))
        if self._closed is None:
            if self._left == 1 and not self._wanted:
                return (yield from self._newest(self._before, 1))
            limit = None if self._wanted else self._left
            self._closed = (yield from self._lanes(self._before, limit))[::-1]
        size = self._rows_at_once
        if self._left is not None and not self._wanted:
            size = min(self._left, size)
        page = yield from self._read((yield from self._next(self._closed, size)))
        if self._left is not None:
            self._left -= len(page)
        self.done = not (self._open or self._closed) or self._left == 0
        return page

    def _one(self, key: bytes) -> Plan[list[CheckpointTuple]]:
        """The one checkpoint that the config names, in whichever of the lanes it is."""
        if self._before is not None and key >= self._before:
            self.done = True
            return []
        found = yield from self._newest(key + b"\0", None, key)
        return [each for each in found if fits(each.metadata, self._wanted)][: self._left]

    def _newest(
        self, before: bytes | None, limit: int | None, key: bytes | None = None
    ) -> Plan[list[CheckpointTuple]]:
        """The newest checkpoint of each lane (if it is `key`), as whoever asks for one gets it."""
        self.done = True
        page: list[CheckpointTuple] = []
        for lane in (yield from self._lanes(before, limit)):
            if key is None or lane.id == key:
                config = config_of(lane.thread_id, lane.ns, unpack(lane.id))
                found = yield from get_tuple(self._codec, config, self._recent)
                page += () if found is None else (found,)
        return page

    def _next(self, closed: list[Newest], size: int) -> Plan[list[tuple[_Cursor, Rows]]]:
        """Up to `size` rows that come next, in order: of which lane, and those of it."""
        heap = self._open
        runs: list[tuple[_Cursor, Rows]] = []
        while size > 0:
            while closed and not (heap and heap[0][2].newest > closed[-1].id):
                lanes = [closed.pop() for _ in closed[-self._lanes_at_once :]]
                self._lanes_at_once = min(2 * self._lanes_at_once, PAGE)
                yield from self._fill([*map(self._cursor, lanes)])
            if not heap or (runs and not heap[0][2].rows):
                break
            if not heap[0][2].rows:
                hungry = [turn[2] for turn in heap if not turn[2].rows]
                heap[:] = [turn for turn in heap if turn[2].rows]
                heapify(heap)
                yield from self._fill(hungry)
                continue
            cursor = heappop(heap)[2]
            after = heap[0][2].newest if heap else b""
            rows = cursor.take(max(after, closed[-1].id) if closed else after, size)
            size -= len(rows)
            runs.append((cursor, rows))
            if cursor.rows or not cursor.ended:
                heappush(heap, _turn(cursor))
        return runs

    def _fill(self, cursors: Sequence[_Cursor]) -> Plan[None]:
        """Read what comes next in some lanes, with one request: of many lanes, little of each."""
        size = min(self._rows_at_once, max(_FEW, PAGE // max(1, len(cursors))))
        asked = [(cursor.lane, cursor.before) for cursor in cursors]
        pages: list[Page] = yield self._asking(asked, size)
        for cursor, page in zip(cursors, pages, strict=True):
            cursor.fill(page, size)
            if cursor.rows:
                heappush(self._open, _turn(cursor))
        if self._wanted:  # few of them may be such
            self._rows_at_once = min(4 * self._rows_at_once, PAGE)

    def _read(self, runs: Sequence[tuple[_Cursor, Rows]]) -> Plan[list[CheckpointTuple]]:
        """The checkpoints of these rows that hold what is wanted, in order: of short lanes
        together, of others one by one."""
        rows: dict[_Cursor, list[Any]] = {}
        for cursor, some in runs:
            rows.setdefault(cursor, []).extend(some)
        found: dict[_Cursor, dict[bytes, CheckpointTuple]] = {}
        short = [cursor for cursor in rows if cursor.short] if reads_live(self._codec) else []
        if short:
            traces = traces_of(self._wanted)
            asked = [cursor.asked(rows[cursor], self._wanted, traces) for cursor in short]
            pages = yield from read_short(self._codec, asked, self._wanted)
            for cursor, page in zip(short, pages, strict=True):
                if page is None:
                    cursor.short = False
                else:
                    found[cursor] = page
        for cursor, some in rows.items():
            if cursor in found:
                continue
            try:
                found[cursor] = yield from cursor.read(some, self._wanted, self._left)
            except CorruptCheckpointError:  # or some of them are pruned meanwhile
                found[cursor] = yield from sure(partial(self._read_anew, cursor, some))
        return [
            found[cursor][row.id]
            for cursor, some in runs
            for row, _ in some
            if row.id in found[cursor]
        ][: self._left]

    def _read_anew(self, cursor: _Cursor, rows: Rows) -> Plan[dict[bytes, CheckpointTuple]]:
        """Read rows of a lane once more, and those of them that are still there."""
        taken = {row.id for row, _ in rows}
        (page,) = yield self._asking([(cursor.lane, rows[0][0].id + b"\0")], len(rows))
        cursor.begin_anew(page)
        left = [each for each in page.rows if each[0].id in taken]
        return (yield from cursor.read(left, self._wanted, self._left))

    def _asking(self, asked: Sequence[tuple[int, bytes]], size: int) -> ReadPages:
        """A request for up to `size` rows of some lanes, from below an id of each."""
        live = reads_live(self._codec)
        return ReadPages(asked, size, live, trace_of(self._wanted) if live else None)

    def _cursor(self, lane: Newest) -> _Cursor:
        reader = LaneReader(lane.thread_id, lane.ns, self._codec, lane.lane, self._recent)
        return _Cursor(reader, lane.id + b"\0")

    def _lanes(self, before: bytes | None, limit: int | None) -> Plan[list[Newest]]:
        """The lanes to walk: one namespace if the config names one, else all of its thread."""
        if self._config is None:
            return (yield ListNewest(None, None, before, limit))
        thread_id, _ = lane_of(self._config)
        configurable = cast("Mapping[str, Any]", self._config)["configurable"]
        return (yield ListNewest(thread_id, configurable.get("checkpoint_ns"), before, limit))
