"""Reading one lane: records opened at their places, channel maps resolved, snapshots built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from plait.checkpoint.base.port import Mark, NewCheckpoint, Plan, Snapshot, TaskWrites
from plait.checkpoint.log.deferred import Deferred, given
from plait.checkpoint.log.keys import UUID, UUID_TEXT, unpack, unpack_all
from plait.checkpoint.log.reading import read_items, read_values
from plait.checkpoint.log.recent import Recent
from plait.checkpoint.log.records import (
    CHECKPOINT,
    ENTIRE,
    LIST_PATCH,
    SINGLE,
    WRITES,
    CheckpointFrame,
    Ref,
    damaged,
    is_list,
    read_checkpoint,
    read_writes,
)
from plait.checkpoint.log.requests import (
    CheckpointRow,
    ReadCheckpoints,
    ReadWrites,
    ValueRow,
    WriteRow,
)
from plait.checkpoint.serde import Codec, guarded, place, unseal, unseal_all
from plait.errors import CorruptCheckpointError

Facts: TypeAlias = "tuple[str, dict[str, Any], dict[str, Any]]"
"""Timestamp, metadata and frontier of a checkpoint: the reader's to change."""
TaskIdWrites: TypeAlias = "list[tuple[str, str, Any]]"
"""(task id, channel, value), in the order of path and position."""


class Point:
    """A checkpoint as later ones build on it: its map of channels, its distance to a full map."""

    __slots__ = ("anchor", "depth", "id", "map")

    def __init__(self, id: bytes, anchor: bytes, depth: int, map: dict[str, bytes]) -> None:
        self.id = id
        self.anchor = anchor
        self.depth = depth
        self.map = map


class LaneReader:
    """Reads the rows of one lane."""

    __slots__ = ("codec", "lane", "live", "ns", "place", "recent", "thread_id")

    def __init__(
        self, thread_id: str, ns: str, codec: Codec, lane: int, recent: Recent | None = None,
        at: bytes | None = None,
    ) -> None:  # fmt: skip
        self.thread_id = thread_id
        self.ns = ns
        self.codec = codec
        self.lane = lane
        self.place = guarded(place(thread_id, ns), codec.guard) if at is None else at
        self.live = type(codec) is Codec and codec.guard is None
        """Whether parts may be read in place of bytes: not where a serializer has a say in them."""
        self.recent = recent if self.live else None
        """What was read last."""

    def row(self, key: bytes, *, live: bool = False) -> Plan[CheckpointRow | None]:
        """The row of one checkpoint."""
        rows: list[CheckpointRow] = yield ReadCheckpoints(self.lane, key, key, live=live)
        return rows[0] if rows else None

    def entry(
        self, row: CheckpointRow, wanted: Mapping[str, Any] | None = None
    ) -> Plan[tuple[Snapshot, Point, CheckpointFrame] | None]:
        """A checkpoint read whole, or None where its metadata does not hold `wanted`."""
        frame = self.open_checkpoint(row)
        if wanted and not fits(self.body(frame)[1], wanted):
            return None
        point = yield from self.resolve(row, frame)
        values, _ = yield from read_values(self, point.map, track=False)
        return (yield from self.snapshot(row, frame, values)), point, frame

    def body(self, frame: CheckpointFrame) -> Facts:
        """Timestamp, metadata and frontier of a checkpoint."""
        body = self.codec.loads(frame.body)
        if not is_list(body) or [type(part) for part in body] != [str, dict, dict]:
            raise damaged("checkpoint")
        return body[0], body[1], body[2]

    def facts(self, row: CheckpointRow, frame: CheckpointFrame) -> Facts:
        """`body`, also of a row that was read live."""
        record: Any = row.record
        if type(record) is not Deferred:
            return self.body(frame)
        checkpoint: NewCheckpoint = record.holds[0]
        metadata = dict(checkpoint.metadata)
        if "parents" in metadata:
            metadata["parents"] = dict(metadata["parents"])
        return checkpoint.made_at, metadata, dict(checkpoint.frontier)

    def mark(self, row: CheckpointRow) -> Mark:
        """A checkpoint without its values."""
        parent = unpack(row.parent) if row.parent is not None else None
        _, metadata, frontier = self.body(self.open_checkpoint(row))
        return Mark(unpack(row.id), parent, metadata, frontier.get("copy_of"))

    def page(self, before: bytes | None, size: int) -> Plan[list[CheckpointRow]]:
        """Up to `size` checkpoints, newest first."""
        return (yield ReadCheckpoints(self.lane, before=before, limit=size, newest_first=True))

    def snapshot(
        self, row: CheckpointRow, frame: CheckpointFrame, values: dict[str, Any]
    ) -> Plan[Snapshot]:
        found: list[WriteRow] = yield ReadWrites(self.lane, row.id, live=self.live)
        writes, ids = (yield from self.writes(found)) if found else ([], {})
        ts, metadata, frontier = self.facts(row, frame)
        id, parent = self.ids(row)
        return Snapshot(id, parent, ts, metadata, frontier, values, writes, None, ids)

    def ids(self, row: CheckpointRow) -> tuple[str, str | None]:
        """The ids of a checkpoint and of its parent."""
        record: Any = row.record
        if type(record) is Deferred:
            checkpoint: NewCheckpoint = record.holds[0]
            return checkpoint.id, checkpoint.parent_id
        return unpack(row.id), unpack(row.parent) if row.parent is not None else None

    def writes(self, rows: Sequence[WriteRow]) -> Plan[tuple[TaskIdWrites, dict[str, str]]]:
        """What the tasks of a checkpoint wrote; ids that are known to follow from their path."""
        writes: TaskIdWrites = []
        ids: dict[str, str] = {}
        for row in rows:
            if not live_writes(row, writes, ids):
                yield from self.open_writes(row, writes)
        return writes, ids

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

    def open_patches(self, channel: str, rows: Sequence[ValueRow]) -> dict[bytes, bytes]:
        """The payloads of list patches among rows, by id; what is missing, `open_value` says."""
        keys = [row[1] for row in rows]
        if self.codec.guard is not None or set(map(len, keys)) != {UUID}:
            return {}
        before = self.place + UUID_TEXT.to_bytes(4, "big")
        records = [row[2] for row in rows]
        payloads = unseal_all(LIST_PATCH, before, unpack_all(keys), place(channel), records)
        pairs = zip(keys, payloads, strict=True)
        return {key: payload for key, payload in pairs if payload is not None}

    def open_writes(self, row: WriteRow, into: TaskIdWrites) -> Plan[None]:
        """Add what the task of a sealed row wrote."""
        task = unpack(row.task)
        for channel, data in self.writes_frame(row):
            if type(data) is bytes:
                into.append((task, channel, self.codec.loads(data)))
            else:
                into.append((task, channel, (yield from self._deref(data))))

    def writes_frame(self, row: WriteRow) -> list[tuple[str, bytes | Ref]]:
        id, task = unpack(row.checkpoint), unpack(row.task)
        where = "checkpoint {!r}, {}"
        kind, payload = self._open(row.record, where, id, f"writes:{task}")
        if kind != WRITES:
            raise damaged("task's writes")
        return read_writes(payload)

    def _deref(self, ref: Any) -> Plan[Any]:
        value = yield from read_items(self, ref.channel, ref.version)
        if ref.length == ENTIRE:
            return value
        if not is_list(value):
            raise damaged("task's writes")
        if ref.length == SINGLE:
            return value[ref.start]
        return value[ref.start : ref.start + ref.length]

    def resolve(self, row: CheckpointRow, frame: CheckpointFrame) -> Plan[Point]:
        """The channel map of a checkpoint: its changes, over its ancestors' up to a full map."""
        point = full_point(row, frame)
        if point is not None:
            return point
        rows: list[CheckpointRow] = yield ReadCheckpoints(self.lane, frame.anchor, row.id)
        by_id = {each.id: each for each in rows}
        trail = [(row.id, frame)]
        current = row
        while trail[-1][1].full is None:
            parent = by_id.get(current.parent) if current.parent is not None else None
            if parent is None or len(trail) > len(by_id):
                raise CorruptCheckpointError(
                    f"An ancestor of checkpoint {unpack(row.id)!r} is missing (thread "
                    f"{self.thread_id!r}, namespace {self.ns!r}). Its row was deleted by hand; "
                    "restore the database from a backup."
                )
            current = parent
            trail.append((parent.id, self.open_checkpoint(parent)))
        anchor, first = trail.pop()
        map = dict(first.full or {})
        depth = len(trail)
        while trail:
            map = changed_map(map, *trail.pop())
        return Point(row.id, anchor, depth, map)


def full_point(row: CheckpointRow, frame: CheckpointFrame) -> Point | None:
    """The point of a checkpoint that needs no ancestor to tell its channel map."""
    return None if frame.full is None else Point(row.id, row.id, 0, frame.full.copy())


def own_values(row: CheckpointRow, map: Mapping[str, bytes]) -> dict[str, Any] | None:
    """The values of a checkpoint that was read live and has made every version that it has."""
    record: Any = row.record
    if type(record) is not Deferred:
        return None
    changed: Mapping[str, Any] = record.holds[0].changed
    if changed.keys() != map.keys():
        return None
    return {name: given(value) for name, value in changed.items()}


def live_writes(row: WriteRow, into: TaskIdWrites, ids: dict[str, str]) -> bool:
    """Whether a row was read live; then what its task wrote is added, and its id."""
    record: Any = row.record
    if type(record) is not Deferred:
        return False
    task: TaskWrites = record.holds
    id = task.task_id
    if task.derived:
        ids[task.path] = id
    for channel, value in task.writes:
        into.append((id, channel, given(value)))
    return True


def changed_map(
    before: Mapping[str, bytes], key: bytes, frame: CheckpointFrame
) -> dict[str, bytes]:
    """The channel map of checkpoint `key`, from its parent's."""
    map = {**before, **dict.fromkeys(frame.changed, key)}
    for name in frame.removed:
        map.pop(name, None)
    return map


def fits(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether metadata holds every wanted pair, compared exactly (True is not 1)."""
    return all(
        key in metadata and type(metadata[key]) is type(value) and metadata[key] == value
        for key, value in wanted.items()
    )
