"""The native port over the log: load, claim, commit, save_writes, release, history.

A session remembers what it loaded or committed last: the map from channels to versions, and of
each channel an own shallow copy to take differences against. Calls encode at once; the plans that
they return only carry bytes.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from plait.checkpoint.base.port import NewCheckpoint, Plan, Snapshot, TaskWrites
from plait.checkpoint.log.claims import Hold
from plait.checkpoint.log.keys import pack, unpack
from plait.checkpoint.log.reading import read_items, read_values
from plait.checkpoint.log.records import (
    CHECKPOINT,
    ENTIRE,
    SINGLE,
    WRITES,
    CheckpointFrame,
    Ref,
    damaged,
    read_checkpoint,
    read_writes,
    write_checkpoint,
    write_writes,
)
from plait.checkpoint.log.requests import (
    CheckpointRow,
    Done,
    LaneRow,
    ReadCheckpoints,
    ReadLane,
    ReadWrites,
    Refused,
    Transact,
    WriteRow,
)
from plait.checkpoint.log.versions import Encoded, Version
from plait.checkpoint.log.writing import encode_version
from plait.checkpoint.serde import Codec, place, seal, unseal
from plait.errors import CorruptCheckpointError

_FULL_EVERY = 16
_PAGE = 32


class _Point:
    """A checkpoint as later ones build on it: its map of channels and its distance to a full map."""

    __slots__ = ("anchor", "depth", "id", "map")

    def __init__(self, id: bytes, anchor: bytes, depth: int, map: dict[str, bytes]) -> None:
        self.id = id
        self.anchor = anchor
        self.depth = depth
        self.map = map


class LogSession:
    """One run's hold on one lane (see `plait.checkpoint.base.port.Session`)."""

    __slots__ = ("_at", "_hold", "_lane", "_loaded", "_place", "_versions", "codec", "ns",
                 "thread_id")  # fmt: skip

    def __init__(self, thread_id: str, ns: str, codec: Codec, hold: Hold) -> None:
        self.thread_id = thread_id
        self.ns = ns
        self.codec = codec
        self._hold = hold
        self._place = place(thread_id, ns)
        self._lane: int | None = None
        self._at: _Point | None = None
        self._versions: dict[str, Version] = {}
        self._loaded: bytes | bool | None = False
        """The head that the last load of the head saw (False: no such load)."""

    @property
    def parked(self) -> bool:
        """Whether the run waits for the consumer of its stream; the driver sets it."""
        return self._hold.parked

    @parked.setter
    def parked(self, value: bool) -> None:
        self._hold.parked = value

    @property
    def held(self) -> bool:
        """Whether this run holds the claim."""
        return self._hold.held

    def nested(self, ns: str) -> LogSession:
        """The lane of another namespace of this thread, under the same claim and fence."""
        return LogSession(self.thread_id, ns, self.codec, self._hold)

    # --- reading ---------------------------------------------------------------------------------

    def load(self, checkpoint_id: str | None = None) -> Plan[Snapshot | None]:
        """Read a checkpoint (None: the head), with values and task writes.

        Raises:
            CorruptCheckpointError: What is stored is damaged.
        """
        row: LaneRow | None = yield ReadLane(self.thread_id, self.ns)
        if self.ns == "" and not self._hold.held:
            self._hold.seen = row
        if checkpoint_id is None:
            self._loaded = row.head if row is not None else None
        if row is None:
            return None
        self._lane = row.lane
        wanted = pack(checkpoint_id) if checkpoint_id is not None else row.head
        if wanted is None:
            return None
        rows: list[CheckpointRow] = yield ReadCheckpoints(row.lane, wanted, wanted)
        if not rows:
            return None
        frame = self._open_checkpoint(rows[0])
        point = yield from self._resolve(rows[0], frame)
        values, versions = yield from read_values(
            self._open_value, row.lane, point.map, self.codec, track=True
        )
        self._at, self._versions = point, versions
        return (yield from self._snapshot(rows[0], frame, values))

    def _snapshot(
        self, row: CheckpointRow, frame: CheckpointFrame, values: dict[str, Any]
    ) -> Plan[Snapshot]:
        assert self._lane is not None
        writes: list[WriteRow] = yield ReadWrites(self._lane, row.id)
        decoded: list[tuple[str, str, Any]] = []
        for write in writes:
            yield from self._open_writes(write, decoded)
        body = self.codec.loads(frame.body)
        if type(body) is not list or [type(part) for part in body] != [str, dict, dict]:
            raise damaged("checkpoint")
        ts, metadata, frontier = body
        parent = unpack(row.parent) if row.parent is not None else None
        return Snapshot(unpack(row.id), parent, ts, metadata, frontier, values, decoded)

    def _open(self, record: bytes, where: str, *parts: str) -> tuple[int, bytes]:
        try:
            return unseal(self._place + place(*parts), record)
        except CorruptCheckpointError as error:
            raise CorruptCheckpointError(
                f"{error} (thread {self.thread_id!r}, namespace {self.ns!r}, {where})"
            ) from error

    def _open_checkpoint(self, row: CheckpointRow) -> CheckpointFrame:
        id = unpack(row.id)
        kind, payload = self._open(row.record, f"checkpoint {id!r}", id, "")
        if kind != CHECKPOINT:
            raise damaged("checkpoint")
        return read_checkpoint(payload)

    def _open_value(self, channel: str, key: bytes, record: bytes | None) -> tuple[int, bytes]:
        id = unpack(key)
        where = f"checkpoint {id!r}, channel {channel!r}"
        if record is None:
            raise CorruptCheckpointError(
                f"A stored value is missing (thread {self.thread_id!r}, namespace {self.ns!r}, "
                f"{where}). Its row was deleted by hand; restore the database from a backup."
            )
        return self._open(record, where, id, channel)

    def _open_writes(self, row: WriteRow, into: list[tuple[str, str, Any]]) -> Plan[None]:
        task = unpack(row.task)
        for channel, data in self._writes_frame(row):
            if type(data) is bytes:
                into.append((task, channel, self.codec.loads(data)))
            else:
                into.append((task, channel, (yield from self._deref(data))))

    def _writes_frame(self, row: WriteRow) -> list[tuple[str, bytes | Ref]]:
        id, task = unpack(row.checkpoint), unpack(row.task)
        where = f"checkpoint {id!r}, writes of task {task!r}"
        kind, payload = self._open(row.record, where, id, f"writes:{task}")
        if kind != WRITES:
            raise damaged("task's writes")
        return read_writes(payload)

    def _deref(self, ref: Any) -> Plan[Any]:
        assert self._lane is not None
        value = yield from read_items(
            self._open_value, self._lane, ref.channel, ref.version, self.codec
        )
        if ref.count == ENTIRE:
            return value
        if type(value) is not list:
            raise damaged("task's writes")
        if ref.count == SINGLE:
            return value[ref.start]
        return value[ref.start : ref.start + ref.count]

    def _resolve(self, row: CheckpointRow, frame: CheckpointFrame) -> Plan[_Point]:
        """The channel map of a checkpoint: its changes, over its ancestors' up to a full map."""
        if frame.full is not None:
            return _Point(row.id, row.id, 0, frame.full)
        assert self._lane is not None
        assert frame.anchor is not None
        rows: list[CheckpointRow] = yield ReadCheckpoints(self._lane, frame.anchor, row.id)
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
            trail.append((parent.id, self._open_checkpoint(parent)))
        anchor, first = trail.pop()
        map = dict(first.full or {})
        depth = len(trail)
        while trail:
            key, change = trail.pop()
            map.update(dict.fromkeys(change.changed, key))
            for name in change.removed:
                map.pop(name, None)
        return _Point(row.id, anchor, depth, map)

    # --- claims ----------------------------------------------------------------------------------

    def claim(self) -> Plan[None]:
        """Take the thread for this run in a transaction of its own.

        Raises:
            ThreadBusyError: Another live run owns the thread.
        """
        yield from self._send(Transact(self.thread_id, ""), claim=True)

    def release(self) -> Plan[None]:
        """Give the claim back, if this run still holds it."""
        hold = self._hold
        if hold.held:
            hold.held = False
            yield Transact(self.thread_id, "", fence=hold.fence, release=True)

    def _moved(self, root: LaneRow) -> bool:
        return self.ns == "" and self._loaded is not False and root.head != self._loaded

    def _send(self, batch: Transact, *, claim: bool = False, release: bool = False) -> Plan[None]:
        """Send a transaction under the claim, taking and giving it back as asked."""
        hold = self._hold
        try:
            if hold.policy == "allow":
                answer: Done | Refused = yield batch
            else:
                batch.release = release
                if hold.held:
                    batch.fence = hold.fence
                    answer = yield batch
                else:
                    answer = yield from hold.acquire(batch, self._moved)
        except BaseException:
            self._at = None
            self._versions = {}
            raise
        if type(answer) is Refused:
            raise hold.lost(answer.root)
        if batch.ns == self.ns:
            self._lane = answer[0]
        self._loaded = False
        if release:
            hold.held = False

    # --- writing ---------------------------------------------------------------------------------

    def commit(
        self,
        checkpoint: NewCheckpoint,
        writes: Sequence[TaskWrites] = (),
        *,
        claim: bool = False,
        release: bool = False,
    ) -> Plan[None]:
        """Store a checkpoint and task writes and move the head, in one transaction.

        Raises:
            ThreadBusyError: The claim is refused, or was lost to another run.
            UnregisteredTypeError: A value is of a type that the registry does not know.
        """
        id, key = checkpoint.id, pack(checkpoint.id)
        parent = pack(checkpoint.parent_id) if checkpoint.parent_id is not None else None
        at = self._at
        follows = at.id == parent if at is not None else parent is None
        if at is None or not follows:
            self._versions = {}
        body = self.codec.dumps(
            [checkpoint.ts, dict(checkpoint.metadata), dict(checkpoint.frontier)]
        )
        where = self._place + place(id)
        encoded = self._encode_values(checkpoint.changed, key)
        batch = Transact(self.thread_id, self.ns, self._lane, head=key)
        batch.values = [
            (name, key, seal(each.kind, where + place(name), each.payload))
            for name, each in encoded.items()
        ]
        if parent is None:
            self._at = None
        if follows:
            frame = self._advance(key, list(encoded), checkpoint.removed, body)
            batch.checkpoints = [(key, parent, seal(CHECKPOINT, where + place(""), frame))]
        merges = self._encode_writes(batch, writes, checkpoint.changed, encoded, key)
        return self._commit(batch, merges, (key, parent, list(encoded), checkpoint.removed, body)
                            if not follows else None, claim, release)  # fmt: skip

    def _commit(
        self,
        batch: Transact,
        merges: list[tuple[TaskWrites, list[tuple[str, bytes | Ref]]]],
        late: tuple[bytes, bytes | None, list[str], Sequence[str], bytes] | None,
        claim: bool,
        release: bool,
    ) -> Plan[None]:
        if late is not None:
            key, parent, changed, removed, body = late
            yield from self._arrive(parent)
            frame = self._advance(key, changed, removed, body)
            record = seal(CHECKPOINT, self._place + place(unpack(key), ""), frame)
            batch.checkpoints = [(key, parent, record)]
        if merges:
            yield from self._merge(batch, merges)
        yield from self._send(batch, claim=claim, release=release)

    def _arrive(self, parent: bytes | None) -> Plan[None]:
        """Stand at a parent that this session neither loaded nor made."""
        self._at = None
        if parent is None:
            return
        lane: LaneRow | None = yield ReadLane(self.thread_id, self.ns)
        rows: list[CheckpointRow] = []
        if lane is not None:
            self._lane = lane.lane
            rows = yield ReadCheckpoints(lane.lane, parent, parent)
        if rows:
            self._at = yield from self._resolve(rows[0], self._open_checkpoint(rows[0]))

    def _advance(
        self, key: bytes, changed: list[str], removed: Sequence[str], body: bytes
    ) -> bytes:
        """Move to the new checkpoint; its payload has a full map where the chain grew long."""
        at = self._at
        gone: list[str] = []
        if at is None:
            at = _Point(key, key, 0, {})
        else:
            at = _Point(key, at.anchor, at.depth + 1, at.map)
        map = at.map
        for name in changed:
            map[name] = key
        for name in removed:
            if map.pop(name, None) is not None:
                gone.append(name)
            self._versions.pop(name, None)
        self._at = at
        if at.anchor == key or at.depth >= max(_FULL_EVERY, len(map)):
            at.anchor, at.depth = key, 0
            return write_checkpoint(None, 0, changed, gone, map, body)
        return write_checkpoint(at.anchor, at.depth, changed, gone, None, body)

    def _encode_values(self, changed: Mapping[str, Any], key: bytes) -> dict[str, Encoded]:
        codec, versions = self.codec, self._versions
        out: dict[str, Encoded] = {}
        for name, value in changed.items():
            encoded = encode_version(codec, versions.get(name), value, key)
            if encoded is not None:
                out[name] = encoded
                versions[name] = encoded.version
        return out

    def save_writes(
        self, writes: Sequence[TaskWrites], *, claim: bool = False, release: bool = False
    ) -> Plan[None]:
        """Acknowledge finished tasks, in one transaction.

        Raises:
            ThreadBusyError: The claim is refused, or was lost to another run.
            UnregisteredTypeError: A value is of a type that the registry does not know.
        """
        batch = Transact(self.thread_id, self.ns, self._lane)
        merges = self._encode_writes(batch, writes, {}, {}, b"")
        return self._commit(batch, merges, None, claim, release)

    def _encode_writes(
        self,
        batch: Transact,
        writes: Sequence[TaskWrites],
        changed: Mapping[str, Any],
        encoded: Mapping[str, Encoded],
        key: bytes,
    ) -> list[tuple[TaskWrites, list[tuple[str, bytes | Ref]]]]:
        """Fill in the rows of task writes; returns those that first need what is stored."""
        merges: list[tuple[TaskWrites, list[tuple[str, bytes | Ref]]]] = []
        rows: list[tuple[bytes, bytes, str, bytes]] = []
        codec = self.codec
        for task in writes:
            parts: list[tuple[str, bytes | Ref]] = []
            for channel, value in task.writes:
                each = encoded.get(channel)
                if each is None:
                    parts.append((channel, codec.dumps(value)))
                else:
                    parts.append((channel, each.find(value, channel, codec)))
            if task.merge:
                merges.append((task, parts))
            else:
                rows.append(self._write_row(task, parts))
        batch.writes = rows
        return merges

    def _write_row(
        self, task: TaskWrites, parts: Sequence[tuple[str, bytes | Ref]]
    ) -> tuple[bytes, bytes, str, bytes]:
        where = self._place + place(task.checkpoint_id, f"writes:{task.task_id}")
        record = seal(WRITES, where, write_writes(parts))
        return pack(task.checkpoint_id), pack(task.task_id), task.path, record

    def _merge(
        self, batch: Transact, merges: list[tuple[TaskWrites, list[tuple[str, bytes | Ref]]]]
    ) -> Plan[None]:
        """Replace only the named channels of writes that are stored already."""
        lane: LaneRow | None = yield ReadLane(self.thread_id, self.ns)
        rows = list(batch.writes)
        for task, parts in merges:
            stored: list[WriteRow] = []
            if lane is not None:
                stored = yield ReadWrites(lane.lane, pack(task.checkpoint_id))
            named = {channel for channel, _ in parts}
            wanted = pack(task.task_id)
            for row in stored:
                if row.task == wanted:
                    kept = [part for part in self._writes_frame(row) if part[0] not in named]
                    parts = [*kept, *parts]
            rows.append(self._write_row(task, parts))
        batch.writes = rows

    # --- history ---------------------------------------------------------------------------------

    def history(
        self,
        *,
        before: str | None = None,
        limit: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> Generator[Plan[list[Snapshot]], None, None]:
        """Newest first, page by page: plans of up to some tens of snapshots each."""
        cursor: list[bytes | None] = [pack(before) if before is not None else None]
        left = limit
        done = False
        while not done and (left is None or left > 0):
            page: list[Snapshot] = []
            ends: list[bool] = []
            yield self._page(cursor, left, dict(filter or {}), page, ends)
            done = not ends or ends[0]
            if left is not None:
                left -= len(page)

    def _page(
        self,
        cursor: list[bytes | None],
        left: int | None,
        wanted: dict[str, Any],
        page: list[Snapshot],
        ends: list[bool],
    ) -> Plan[list[Snapshot]]:
        lane: LaneRow | None = yield ReadLane(self.thread_id, self.ns)
        if lane is None:
            ends.append(True)
            return page
        reader = LogSession(self.thread_id, self.ns, self.codec, self._hold)
        reader._lane = lane.lane
        size = _PAGE if left is None or wanted else min(left, _PAGE)
        rows: list[CheckpointRow] = yield ReadCheckpoints(
            lane.lane, before=cursor[0], limit=size, newest_first=True
        )
        for row in rows:
            snapshot = yield from reader._history_entry(row, wanted)
            if snapshot is not None and (left is None or len(page) < left):
                page.append(snapshot)
        if rows:
            cursor[0] = rows[-1].id
        ends.append(len(rows) < size)
        return page

    def _history_entry(
        self, row: CheckpointRow, wanted: Mapping[str, Any]
    ) -> Plan[Snapshot | None]:
        assert self._lane is not None
        frame = self._open_checkpoint(row)
        if wanted and not _fits(self.codec.loads(frame.body), wanted):
            return None
        point = yield from self._resolve(row, frame)
        values, _ = yield from read_values(
            self._open_value, self._lane, point.map, self.codec, track=False
        )
        return (yield from self._snapshot(row, frame, values))


def _fits(body: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether metadata holds every wanted pair, compared exactly (True is not 1)."""
    try:
        metadata = body[1]
        return all(
            key in metadata and type(metadata[key]) is type(value) and metadata[key] == value
            for key, value in wanted.items()
        )
    except (TypeError, IndexError, KeyError) as error:
        raise damaged("checkpoint") from error
