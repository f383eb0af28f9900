"""Deleting, copying and pruning, as plans.

Pruning keeps some checkpoints of a lane and drops the rest, with every version of a channel that
only they needed. A kept checkpoint whose parent is dropped gets a full map, so that it loads
without its ancestors; the records of values stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.keys import unpack
from plait.checkpoint.log.reader import LaneReader
from plait.checkpoint.log.records import (
    CHECKPOINT,
    DICT_PATCH,
    LIST_PATCH,
    MANIFEST,
    CheckpointFrame,
    Ref,
    read_dict_patch,
    read_list_patch,
    read_manifest,
    write_checkpoint,
)
from plait.checkpoint.log.requests import (
    CheckpointRow,
    DropLane,
    LaneRow,
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadValues,
    ReadWrites,
    WriteRow,
)
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.serde import place, seal, unseal
from plait.errors import ConfigError, nearest

Version = tuple[str, bytes]
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Rule:
    """Which checkpoints of a lane are kept."""

    keep_last: int
    older_than: str | None

    @classmethod
    def of(cls, strategy: str, keep_last: int | None, older_than: str | None) -> Rule:
        """The rule that `prune`'s arguments ask for. Raises ConfigError."""
        if strategy not in ("keep_latest", "delete"):
            raise ConfigError(
                f"Unknown strategy {strategy!r}. {nearest(strategy, ('keep_latest', 'delete'))}"
            )
        if keep_last is None:
            keep_last = 1 if strategy == "keep_latest" else 0
        if keep_last < 0:
            raise ConfigError(f"keep_last is {keep_last}; keep 0 or more checkpoints.")
        return cls(keep_last, older_than)

    def keeps(self, place: int, ts: str) -> bool:
        """Whether the `place`-th newest checkpoint (0: the newest), made at `ts`, is kept."""
        return place < self.keep_last or (self.older_than is not None and ts >= self.older_than)


def delete_thread(session: LogSession) -> Plan[None]:
    """Delete all lanes of a thread, under a claim."""
    lanes: list[LaneRow] = yield ListLanes(session.thread_id)
    if not lanes:
        return
    yield from session.claim()
    lanes = yield ListLanes(session.thread_id)
    for lane in sorted(lanes, key=lambda row: row.ns == ""):  # the root, with the claim, last
        yield DropLane(lane.lane, session.thread_id, session.fence)
    session.forget_claim()


def prune(session: LogSession, rule: Rule) -> Plan[None]:
    """Drop the checkpoints of a thread that a rule does not keep, under a claim."""
    if rule.keep_last == 0 and rule.older_than is None:
        yield from delete_thread(session)
        return
    lanes: list[LaneRow] = yield ListLanes(session.thread_id)
    if not lanes:
        return
    yield from session.claim()
    try:
        for lane in lanes:
            reader = LaneReader(lane.thread_id, lane.ns, session.codec, lane.lane)
            rows: list[CheckpointRow] = yield ReadCheckpoints(lane.lane, newest_first=True)
            kept: set[bytes] = set()
            for n, row in enumerate(rows):
                ts = reader.body(reader.open_checkpoint(row))[0]
                if row.id == lane.head or rule.keeps(n, ts):
                    kept.add(row.id)
            yield from _keep(session, reader, rows, kept, lane.head)
    finally:
        yield from session.release()


def delete_for_runs(
    open_session: Callable[[str], LogSession], run_ids: Sequence[str]
) -> Plan[None]:
    """Drop the checkpoints of all threads whose metadata names one of the runs."""
    wanted = set(run_ids)
    lanes: list[LaneRow] = yield ListLanes(None)
    for lane in lanes:
        session = open_session(lane.thread_id)
        reader = LaneReader(lane.thread_id, lane.ns, session.codec, lane.lane)
        rows: list[CheckpointRow] = yield ReadCheckpoints(lane.lane, newest_first=True)
        kept = {
            row.id
            for row in rows
            if reader.body(reader.open_checkpoint(row))[1].get("run_id") not in wanted
        }
        if len(kept) < len(rows):
            yield from session.claim()
            try:
                yield from _keep(session, reader, rows, kept, lane.head)
            finally:
                yield from session.release()


def copy_thread(codec: Any, source: str, target: LogSession) -> Plan[None]:
    """Copy all lanes of a thread, sealed anew for their new place."""
    existing: list[LaneRow] = yield ListLanes(target.thread_id)
    if existing:
        raise ConfigError(
            f"Thread {target.thread_id!r} exists. Copy to a new thread id, or delete it first."
        )
    lanes: list[LaneRow] = yield ListLanes(source)
    if not lanes:
        return
    yield from target.claim()
    try:
        for lane in lanes:
            reader = LaneReader(source, lane.ns, codec, lane.lane)
            yield from _copy_lane(reader, lane, target)
    finally:
        yield from target.release()


def _copy_lane(reader: LaneReader, lane: LaneRow, target: LogSession) -> Plan[None]:
    here = place(target.thread_id, lane.ns)

    def move(record: bytes, *parts: str) -> bytes:
        kind, payload = unseal(reader.place + place(*parts), record)
        return seal(kind, here + place(*parts), payload)

    versions: list[Version] = yield ListValues(lane.lane)
    for some in _batches(versions):
        records: list[bytes | None] = yield ReadValues(lane.lane, some)
        batch = target.batch(lane.ns)
        batch.values = [
            (channel, key, move(record, unpack(key), channel))
            for (channel, key), record in zip(some, records, strict=True)
            if record is not None
        ]
        yield from target.send(batch)
    rows: list[CheckpointRow] = yield ReadCheckpoints(lane.lane)
    for some in _batches(rows):
        batch = target.batch(lane.ns)
        batch.checkpoints = [
            (row.id, row.parent, move(row.record, unpack(row.id), "")) for row in some
        ]
        writes: list[tuple[bytes, bytes, str, bytes]] = []
        for row in some:
            found: list[WriteRow] = yield ReadWrites(lane.lane, row.id)
            writes += [
                (w.checkpoint, w.task, w.path,
                 move(w.record, unpack(w.checkpoint), f"writes:{unpack(w.task)}"))
                for w in found
            ]  # fmt: skip
        batch.writes = writes
        yield from target.send(batch)
    batch = target.batch(lane.ns)
    batch.head = lane.head
    yield from target.send(batch)


def _batches(rows: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for start in range(0, len(rows), _BATCH):
        yield rows[start : start + _BATCH]


def _keep(
    session: LogSession,
    reader: LaneReader,
    rows: Sequence[CheckpointRow],
    kept: set[bytes],
    head: bytes | None,
) -> Plan[None]:
    """Drop all but the kept checkpoints of a lane, in one transaction."""
    if not kept and reader.ns != "":  # an empty root lane stays: it carries the claim
        yield DropLane(reader.lane, session.thread_id, session.fence)
        return
    if len(kept) == len(rows):
        return
    by_id = {row.id: row for row in rows}
    batch = session.batch(reader.ns)
    rewritten: list[tuple[bytes, bytes | None, bytes]] = []
    needed: set[Version] = set()
    for row in rows:
        if row.id not in kept:
            continue
        frame = reader.open_checkpoint(row)
        point = yield from reader.resolve(row, frame)
        needed.update(point.map.items())
        if row.parent is not None and row.parent not in kept:
            parent = _kept_ancestor(row, by_id, kept)
            rewritten.append((row.id, parent, _with_full_map(reader, row.id, frame, point.map)))
        found: list[WriteRow] = yield ReadWrites(reader.lane, row.id)
        for write in found:
            needed.update(
                (ref.channel, ref.version)
                for _, ref in reader.writes_frame(write)
                if isinstance(ref, Ref)
            )
    needed = yield from _closure(reader, needed)
    stored: list[Version] = yield ListValues(reader.lane)
    batch.checkpoints = rewritten
    batch.drop_checkpoints = [row.id for row in rows if row.id not in kept]
    batch.drop_values = [version for version in stored if version not in needed]
    if head is not None and head not in kept and kept:
        batch.head = max(kept)
    yield from session.send(batch)


def _kept_ancestor(
    row: CheckpointRow, by_id: Mapping[bytes, CheckpointRow], kept: set[bytes]
) -> bytes | None:
    parent = row.parent
    for _ in range(len(by_id)):
        if parent is None or parent in kept:
            return parent
        above = by_id.get(parent)
        parent = above.parent if above is not None else None
    return None


def _with_full_map(
    reader: LaneReader, key: bytes, frame: CheckpointFrame, full: Mapping[str, bytes]
) -> bytes:
    payload = write_checkpoint(None, 0, frame.changed, frame.removed, full, frame.body)
    return seal(CHECKPOINT, reader.place + place(unpack(key), ""), payload)


def _closure(reader: LaneReader, roots: Iterable[Version]) -> Plan[set[Version]]:
    """All versions that reading some versions touches."""
    seen: set[Version] = set(roots)
    front = list(seen)
    while front:
        some, front = front[:_BATCH], front[_BATCH:]
        records: list[bytes | None] = yield ReadValues(reader.lane, some)
        for (channel, key), record in zip(some, records, strict=True):
            kind, payload = reader.open_value(channel, key, record)
            for base in _stands_on(kind, payload):
                if (channel, base) not in seen:
                    seen.add((channel, base))
                    front.append((channel, base))
    return seen


def _stands_on(kind: int, payload: bytes) -> list[bytes]:
    """The other versions that a record points at."""
    if kind == LIST_PATCH:
        return [read_list_patch(payload).base]
    if kind == DICT_PATCH:
        return [read_dict_patch(payload).base]
    if kind == MANIFEST:
        return [run[0] for run in read_manifest(payload).runs]
    return []


__all__ = ["Rule", "copy_thread", "delete_for_runs", "delete_thread", "prune"]
