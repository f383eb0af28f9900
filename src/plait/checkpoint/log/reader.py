"""Reading one lane: records opened at their places, channel maps resolved, snapshots built."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, TypeAlias, cast

from plait.checkpoint.base.port import (
    Live,
    Mark,
    NewCheckpoint,
    Plan,
    Snapshot,
    Stored,
    TaskWrites,
)
from plait.checkpoint.log.deferred import Deferred, settled_facts
from plait.checkpoint.log.keys import UUID, UUID_TEXT, texts_of, unpack, unpack_all
from plait.checkpoint.log.loans import is_outer
from plait.checkpoint.log.reading import longer, read_items, read_values
from plait.checkpoint.log.recent import KeptHead, Recent, proof_of
from plait.checkpoint.log.records import (
    CHECKPOINT,
    WRITES,
    CheckpointFrame,
    Data,
    Longer,
    Ref,
    damaged,
    is_list,
    read_checkpoint,
    read_writes,
    ref_of,
)
from plait.checkpoint.log.requests import (
    CheckpointRow,
    LaneRow,
    ReadCheckpoints,
    ReadLane,
    ReadWrites,
    ValueRow,
    WriteRow,
)
from plait.checkpoint.log.versions import Point
from plait.checkpoint.serde import Codec, guarded, held_in, place, unseal, unseal_all
from plait.constants import JOIN, ROUTE
from plait.engine.migration import OWN
from plait.engine.records import Unmade, given, id_of, snapshot_of, unread
from plait.errors import CorruptCheckpointError, UnregisteredTypeError
from plait.typing import MISSING

Facts: TypeAlias = "tuple[str, dict[str, Any], dict[str, Any]]"
"""Timestamp, metadata and frontier of a checkpoint."""
Frame: TypeAlias = "list[tuple[str, Data]]"
"""What a task wrote: of each channel the packed value, or where it is."""
Opened: TypeAlias = "tuple[WriteRow, Frame | None]"
"""A task's writes; None where they are at hand as they were."""
Pieces: TypeAlias = "Callable[[Ref], tuple[Any] | None]"
"""What a task's write refers to, alone in a tuple, where it is known without storage."""


_FACTS = [str, dict, dict]
_RECORD = CheckpointRow._fields.index("record")
_TOGETHER = 256
"""Checkpoints whose writes are read with one request."""
_WRITTEN = WriteRow._fields.index("record")


def reads_live(codec: Codec) -> bool:
    """Whether parts may be read in place of bytes: not where a serializer has a say in them."""
    return type(codec) is Codec and codec.guard is None


class LaneReader:
    """Reads the rows of one lane."""

    __slots__ = ("_place", "codec", "lane", "live", "ns", "recent", "thread_id")

    def __init__(
        self, thread_id: str, ns: str, codec: Codec, lane: int, recent: Recent | None = None,
        at: bytes | None = None,
    ) -> None:  # fmt: skip
        self.thread_id = thread_id
        self.ns = ns
        self.codec = codec
        self.lane = lane
        self._place = at
        self.live = reads_live(codec)
        """Whether parts may be read in place of bytes."""
        self.recent = recent if self.live else None
        """What was read or written last."""

    @property
    def place(self) -> bytes:
        """Where records of the lane live."""
        if self._place is None:
            self._place = guarded(place(self.thread_id, self.ns), self.codec.guard)
        return self._place

    def outer(self, ns: str) -> Plan[LaneReader]:
        """The lane of a namespace around this one, for what is borrowed there."""
        row: LaneRow | None = None
        if is_outer(ns, self.ns):  # also so that no two lanes borrow from each other
            row = yield ReadLane(self.thread_id, ns)
        if row is None:
            raise CorruptCheckpointError(
                f"A stored value stands on namespace {ns!r}, which is not there (thread "
                f"{self.thread_id!r}, namespace {self.ns!r}). It was deleted by hand; restore the "
                "database from a backup."
            )
        return LaneReader(self.thread_id, ns, self.codec, row.lane, self.recent)

    def row(self, key: bytes, *, live: bool = False) -> Plan[CheckpointRow | None]:
        """The row of one checkpoint."""
        rows: list[CheckpointRow] = yield ReadCheckpoints(self.lane, key, key, live=live)
        return rows[0] if rows else None

    def entry(
        self, row: CheckpointRow, writes: Sequence[WriteRow] | None
    ) -> Plan[tuple[Snapshot, Point, CheckpointFrame]]:
        """A checkpoint and what its tasks wrote (`writes`, if that was read with it), whole, and
        where its values are."""
        frame, point, head = yield from self.stand(row)
        values = own_values(row)
        if values is None:
            values, _ = yield from read_values(
                self, point.map, track=False, live=self.live, small=small_of(head),
                known_only=False,
            )  # fmt: skip
        return (yield from self.snapshot(row, frame, values, writes)), point, frame

    def body(self, frame: CheckpointFrame) -> Facts:
        """Timestamp, metadata and frontier of a checkpoint."""
        return facts_of(self.codec.loads(frame.body))

    def loads_each(self, parts: Sequence[bytes]) -> Sequence[Any]:
        """Decode many values; together, where no serializer has a say in each."""
        codec = self.codec
        return codec.loads_together(parts) if self.live else [*map(codec.loads, parts)]

    def sealed(
        self, row: CheckpointRow, frame: CheckpointFrame, values: dict[str, Any]
    ) -> Snapshot:
        """A checkpoint whose record was opened, without its writes."""
        ts, metadata, frontier = self.body(frame)
        parent = unpack(row.parent) if row.parent is not None else None
        return Snapshot(unpack(row.id), parent, ts, metadata, frontier, values, [], None, {})

    def mark(self, row: CheckpointRow) -> Mark:
        """A checkpoint without its values."""
        _, metadata, frontier = self.body(self.open_checkpoint(row))
        return self.mark_of(row, metadata, frontier)

    @staticmethod
    def mark_of(
        row: CheckpointRow, metadata: Mapping[str, Any], frontier: Mapping[str, Any]
    ) -> Mark:
        """A checkpoint whose body was read, without its values."""
        parent = unpack(row.parent) if row.parent is not None else None
        return Mark.of(unpack(row.id), parent, metadata, frontier)

    def page(self, before: bytes | None, size: int) -> Plan[list[CheckpointRow]]:
        """Up to `size` checkpoints, newest first."""
        return (yield ReadCheckpoints(self.lane, before=before, limit=size, newest_first=True))

    def snapshot(
        self,
        row: CheckpointRow,
        frame: CheckpointFrame,
        values: dict[str, Any],
        writes: Sequence[WriteRow] | None = None,
    ) -> Plan[Snapshot]:
        """A checkpoint with values that were read, and its writes (read here for None)."""
        record: Any = row.record
        live = type(record) is Deferred
        stored: Stored = (record.holds[0], values, []) if live else self.sealed(row, frame, values)
        return snapshot_of((yield from self._add_to(stored, row, writes)))

    def look(self, row: CheckpointRow, writes: Sequence[WriteRow] | None) -> Plan[Stored]:
        """A checkpoint, whole. `writes`: its rows, if they were read with it."""
        record: Any = row.record
        values = own_values(row)
        head: KeptHead | None = None
        if values is None:
            frame, point, head = yield from self.stand(row)
            values, _ = yield from read_values(
                self, point.map, track=False, live=self.live, small=small_of(head),
                known_only=False,
            )  # fmt: skip
        else:
            frame = self.open_checkpoint(row)
        made = record.holds[0] if type(record) is Deferred else self._facts(row, frame, head)
        return (yield from self._add_to((made, values, []), row, writes))

    def _facts(
        self, row: CheckpointRow, frame: CheckpointFrame, head: KeptHead | None
    ) -> NewCheckpoint:
        """A checkpoint without its values: made once of the one that is kept, if it can be."""
        made = None if head is None else head.made
        if made is None:
            parent = unpack(row.parent) if row.parent is not None else None
            made = NewCheckpoint(unpack(row.id), parent, *self.body(frame), {})
            if head is not None and settled_facts(made):
                head.made = made
        return made

    def _add_to(
        self, stored: Stored, row: CheckpointRow, writes: Sequence[WriteRow] | None
    ) -> Plan[Stored]:
        """Add what tasks wrote to a checkpoint (`writes`, if that was read with it)."""
        if writes is None:
            writes = yield ReadWrites(self.lane, row.id, live=self.live)
        if writes:
            to = {row.id: stored}
            yield from self.add_writes(self.open_writes(writes, to), to)
        return stored

    def open_writes(self, rows: Sequence[WriteRow], to: Container[bytes]) -> Sequence[Opened]:
        """What tasks of these checkpoints wrote: the rows, and what their records say."""
        return [
            (row, None if type(cast("Any", row.record)) is Deferred else self.writes_frame(row))
            for row in rows
            if row.checkpoint in to
        ]

    def add_writes(
        self, opened: Sequence[Opened], to: Mapping[bytes, Stored], pieces: Pieces | None = None
    ) -> Plan[None]:
        """Add what tasks wrote to the checkpoints that it belongs to."""
        inline = [
            (channel, data.more if isinstance(data, Longer) else data)
            for _, frame in opened
            for channel, data in frame or ()
            if not isinstance(data, Ref)
        ]
        try:
            values = iter(self.loads_each([data for _, data in inline]))
        except UnregisteredTypeError:
            values = iter([self._written(channel, data) for channel, data in inline])
        tasks = texts_of([row[1] for row, _ in opened])
        for (row, frame), task in zip(opened, tasks, strict=True):
            stored = to[row[0]]
            if frame is None:
                written: TaskWrites = cast("Any", row.record).holds
            else:
                wrote: list[tuple[str, Any]] = []
                for channel, data in frame:
                    ref = ref_of(data)
                    if ref is None:
                        wrote.append((channel, next(values)))
                        continue
                    found = None if pieces is None else pieces(ref)
                    more = next(values) if isinstance(data, Longer) else None
                    try:
                        value = found[0] if found else (yield from read_items(self, ref))
                        if isinstance(data, Longer):
                            value = longer(given(value), data.length, given(more))
                    except UnregisteredTypeError as error:
                        value = self._unread(channel, error)
                    wrote.append((channel, value))
                written = TaskWrites(id_of(stored), task, row.path, wrote)
            if not isinstance(stored, Snapshot):
                stored[2].append(written)
            elif frame is None:
                stored.add(written)
            else:
                id = written.task_id
                stored.writes += [(id, channel, value) for channel, value in written.writes]

    def _written(self, channel: str, data: bytes) -> Any:
        """What a task wrote to a channel."""
        try:
            return self.codec.loads(data)
        except UnregisteredTypeError as error:
            return self._unread(channel, error)

    def _unread(self, channel: str, error: UnregisteredTypeError) -> Unmade:
        """What stands for a write to a key, of a type that is not known here.

        Raises:
            UnregisteredTypeError: It is the engine's own, which needs it.
        """
        if channel.startswith((OWN, ROUTE, JOIN)):
            raise error
        return unread(held_in(error, f"Key {channel!r}", self.thread_id))

    def _open(self, record: bytes, where: str, *parts: str) -> tuple[int, bytes]:
        """Unseal a record. `where` says of its parts what they are, for the error."""
        try:
            return unseal(self.place + place(*parts), record)
        except CorruptCheckpointError as error:
            raise CorruptCheckpointError(
                f"{error} (thread {self.thread_id!r}, namespace {self.ns!r}, "
                f"{where.format(*parts)})"
            ) from error

    def open_checkpoint(self, row: CheckpointRow) -> CheckpointFrame:
        record: Any = row.record
        if type(record) is Deferred:
            return record.holds[1]
        id = unpack(row.id)
        kind, payload = self._open(row.record, "checkpoint {!r}", id, "")
        if kind != CHECKPOINT:
            raise damaged("checkpoint")
        return read_checkpoint(payload)

    def open_value(self, channel: str, key: bytes, record: bytes | None) -> tuple[int, bytes]:
        id = unpack(key)
        if record is None:
            raise CorruptCheckpointError(
                f"A stored value is missing (thread {self.thread_id!r}, namespace {self.ns!r}, "
                f"checkpoint {id!r}, channel {channel!r}). Its row was deleted by hand; restore "
                "the database from a backup."
            )
        return self._open(record, "checkpoint {!r}, channel {!r}", id, channel)

    def open_all(self, kind: int, channel: str, rows: Sequence[ValueRow]) -> dict[bytes, bytes]:
        """The payloads of this kind among rows, by id; of others, `open_value` says more."""
        keys = [row[1] for row in rows]
        if self.codec.guard is not None or {*map(len, keys)} != {UUID}:
            return {}
        before = self.place + UUID_TEXT.to_bytes(4, "big")
        records = [row[2] for row in rows]
        payloads = unseal_all(kind, before, unpack_all(keys), place(channel), records)
        pairs = zip(keys, payloads, strict=True)
        return {key: payload for key, payload in pairs if payload is not None}

    def writes_frame(self, row: WriteRow) -> Frame:
        """What the record of a task's writes says."""
        id, task = unpack(row.checkpoint), unpack(row.task)
        where = "checkpoint {!r}, {}"
        kind, payload = self._open(row.record, where, id, f"writes:{task}")
        if kind != WRITES:
            raise damaged("task's writes")
        return read_writes(payload)

    def stand(self, row: CheckpointRow) -> Plan[tuple[CheckpointFrame, Point, KeptHead | None]]:
        """A checkpoint opened, its channel map (to be copied, to move on), and what is kept."""
        if self.recent is None:
            frame = self.open_checkpoint(row)
            return frame, (yield from self.resolve(row, frame)), None
        head = self.recent.head_of(self.lane, row)
        if head is not None:
            return head.frame, head.point, head
        frame = self.open_checkpoint(row)
        point = yield from self.resolve(row, frame, self.recent.head(self.lane))
        head = KeptHead(proof_of(row), frame, point)
        self.recent.keep_head(self.lane, head)
        return frame, point, head

    def resolve(
        self, row: CheckpointRow, frame: CheckpointFrame, kept: KeptHead | None = None
    ) -> Plan[Point]:
        """The channel map of a checkpoint: its changes, over its ancestors' up to a full map, or up
        to the one of which the map is kept."""
        if frame.full is not None:
            return Point(row.id, row.id, 0, frame.full.copy())
        first = frame.anchor
        if kept is not None and (kept.point.anchor != first or kept.point.id >= row.id):
            kept = None
        if kept is not None:
            first = kept.point.id
        rows: list[CheckpointRow] = yield ReadCheckpoints(self.lane, first, row.id, live=self.live)
        by_id = {each.id: each for each in rows}
        if kept is not None and not _leads_to(kept, row, by_id):
            return (yield from self.resolve(row, frame))
        trail = [(row.id, frame)]
        current = row
        while trail[-1][1].full is None:
            if kept is not None and current.parent == kept.point.id:
                break
            parent = by_id.get(current.parent) if current.parent is not None else None
            if parent is None or len(trail) > len(by_id):
                raise CorruptCheckpointError(
                    f"An ancestor of checkpoint {unpack(row.id)!r} is missing (thread "
                    f"{self.thread_id!r}, namespace {self.ns!r}). Its row was deleted by hand; "
                    "restore the database from a backup."
                )
            current = parent
            trail.append((parent.id, self.open_checkpoint(parent)))
        full = trail[-1][1].full
        if kept is not None and full is None:
            anchor, depth, map = kept.point.anchor, kept.point.depth, kept.point.map
        else:  # pruning may have given one on the way a map of its own
            anchor, _ = trail.pop()
            depth, map = 0, dict(full or {})
        depth += len(trail)
        while trail:
            map = changed_map(map, *trail.pop())
        return Point(row.id, anchor, depth, map)


def small_of(head: KeptHead | None) -> dict[str, Any] | None:
    """The small values of a checkpoint that is kept: to be looked up, and put."""
    return None if head is None else head.small


def _leads_to(kept: KeptHead, row: CheckpointRow, by_id: Mapping[bytes, CheckpointRow]) -> bool:
    """Whether the kept checkpoint is an ancestor of this one, and stored as it was read."""
    at = row
    while at.parent is not None and at.parent in by_id:
        at = by_id[at.parent]
        if at.id == kept.point.id:
            return proof_of(at) == kept.proof
    return False


def facts_of(body: Any) -> Facts:
    """Timestamp, metadata and frontier, as the body of a checkpoint says them."""
    if not is_list(body) or [*map(type, body)] != _FACTS:
        raise damaged("checkpoint")
    return body[0], body[1], body[2]


def own_values(row: CheckpointRow) -> dict[str, Any] | None:
    """The values of a checkpoint that was read live, if it has made every version that it has.

    They are as they were handed over: nobody changes them.
    """
    record: Any = row.record
    return record.holds[2] if type(record) is Deferred else None


def all_live(row: CheckpointRow, writes: Sequence[WriteRow]) -> Live | None:
    """A checkpoint of which everything was read live and that has made its every version."""
    lives = first_lives([(row, writes)])
    return lives[0] if lives else None


def first_lives(
    rows: Sequence[tuple[CheckpointRow, Sequence[WriteRow] | None]],
) -> list[Live]:
    """Checkpoints and their writes (None: not read), up to the first that is not such a one."""
    lives: list[Live] = []
    for row, writes in rows:
        record: Any = row[_RECORD]
        if type(record) is not Deferred or writes is None:
            break
        checkpoint, _, values = record.holds
        only: Any = writes[0][_WRITTEN] if len(writes) == 1 else None
        tasks = [only.holds] if type(only) is Deferred else live_tasks(writes)
        if values is None or tasks is None:
            break
        lives.append((checkpoint, values, tasks))
    return lives


def live_tasks(rows: Sequence[WriteRow]) -> list[TaskWrites] | None:
    """What tasks wrote; None unless all was read live."""
    tasks: list[TaskWrites] = []
    for row in rows:
        record: Any = row[_WRITTEN]
        if type(record) is not Deferred:
            return None
        tasks.append(record.holds)
    return tasks


def changed_map(
    before: Mapping[str, bytes], key: bytes, frame: CheckpointFrame
) -> dict[str, bytes]:
    """The channel map of checkpoint `key`, from its parent's."""
    map = {**before, **dict.fromkeys(frame.changed, key)}
    for name in frame.removed:
        map.pop(name, None)
    return map


def writes_of(lane: int, rows: Sequence[CheckpointRow]) -> Plan[dict[bytes, list[WriteRow]]]:
    """What tasks of these checkpoints wrote, by checkpoint: of many of them with each request.

    Args:
        lane: Where they are.
        rows: Checkpoints that follow each other, or few lie between them.
    """
    found: dict[bytes, list[WriteRow]] = {row.id: [] for row in rows}
    for start in range(0, len(rows), _TOGETHER):
        ids = [row.id for row in rows[start : start + _TOGETHER]]
        writes: list[WriteRow] = yield ReadWrites(lane, min(ids), max(ids))
        for write in writes:
            if write.checkpoint in found:
                found[write.checkpoint].append(write)
    return found


def fits(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether metadata holds every wanted pair, compared exactly (True is not 1). A dotted key that
    the metadata lacks is a path into them, as in filters of stores."""
    for key, value in wanted.items():
        found = metadata[key] if key in metadata else _inside(metadata, str(key))
        if type(found) is not type(value) or found != value:
            return False
    return True


def _inside(metadata: Mapping[str, Any], path: str) -> Any:
    """What a dotted path leads to; MISSING, which nobody can want, where that is nothing."""
    found: Any = metadata
    for label in path.split("."):
        if not isinstance(found, Mapping) or label not in found:
            return MISSING
        found = cast("Mapping[str, Any]", found)[label]
    return found
