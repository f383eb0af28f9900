"""Copying a thread, as a plan: all lanes, sealed anew for their new place.

The source is not claimed: a run may go on meanwhile. Its checkpoints are read before their values,
so that whatever a copied checkpoint needs is copied; where it is pruned at the same time, the copy
is given up. Heads come last, that of the thread itself after all others: what a copy that died has
left is no thread, and is cleared away by the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.deleting import delete_thread, drop_lanes, released
from plait.checkpoint.log.keys import unpack
from plait.checkpoint.log.progress import Progress, Tell, telling
from plait.checkpoint.log.pruning import BATCH, Version, depth
from plait.checkpoint.log.reader import LaneReader, writes_of
from plait.checkpoint.log.requests import (
    CheckpointRow,
    LaneRow,
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadValues,
)
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.serde import guarded, held_in, place, seal, unseal
from plait.errors import ConfigError, CorruptCheckpointError, ThreadBusyError


def copy_thread(codec: Any, source: str, target: LogSession, tell: Tell) -> Plan[None]:
    """Copy all lanes of a thread.

    Raises:
        ConfigError: The target exists, or the source does not.
        ThreadBusyError: The source was pruned meanwhile; nothing is left of the copy.
    """
    existing: list[LaneRow] = yield ListLanes(target.thread_id)
    _check_free(target.thread_id, existing)
    lanes: list[LaneRow] = yield ListLanes(source)
    if not lanes:
        raise ConfigError(f"There is no thread {source!r} to copy.")
    if existing:  # a run died at its very start, or a copy before its end
        yield from delete_thread(target)
    work = released(target, _fill(codec, source, lanes, target))
    yield from telling(work, tell, source, 0, 1)
    if tell is not None:
        tell(Progress(source, 1, 1))


def _check_free(thread_id: str, lanes: Sequence[LaneRow]) -> None:
    root = next((lane for lane in lanes if lane.ns == ""), None)
    if root is not None and root.lease is not None and root.head is None:
        return  # what a copy that died has left: it is still claimed
    if any(lane.head is not None for lane in lanes):
        raise ConfigError(
            f"Thread {thread_id!r} exists. Copy to a new thread id, or delete it first."
        )


def _fill(codec: Any, source: str, lanes: Sequence[LaneRow], target: LogSession) -> Plan[None]:
    """Claim the target and copy all lanes to it, or leave nothing there."""
    yield from target.claim()
    found: list[LaneRow] = yield ListLanes(target.thread_id)
    _check_free(target.thread_id, found)  # a run may have made it before the claim
    try:
        yield from _copy_lanes(codec, source, lanes, target)
    except GeneratorExit:  # whoever did the requests is gone
        raise
    except BaseException:
        if target.held:
            yield from drop_lanes(target)
        raise


def _copy_lanes(
    codec: Any, source: str, lanes: Sequence[LaneRow], target: LogSession
) -> Plan[None]:
    inner_first = sorted(lanes, key=depth, reverse=True)  # they borrow from those around them
    copied: list[tuple[LaneRow, set[bytes]]] = []
    for lane in inner_first:
        reader = LaneReader(source, lane.ns, codec, lane.lane)
        copied.append((lane, (yield from _copy_lane(reader, lane, target))))
    for lane, ids in copied:  # at the end: a lane may borrow from one that was copied after it
        left: list[CheckpointRow] = yield ReadCheckpoints(lane.lane)
        if not ids <= {row.id for row in left} or lane.head not in {None, *ids}:
            raise _pruned(source)  # and values with them, perhaps
    for lane in inner_first:
        batch = target.batch(lane.ns)
        batch.head = lane.head
        yield from target.send(batch, release=lane is inner_first[-1])


def _copy_lane(reader: LaneReader, lane: LaneRow, target: LogSession) -> Plan[set[bytes]]:
    """Copy what a lane holds, but for its head. Returns the ids of its checkpoints."""
    here = guarded(place(target.thread_id, lane.ns), target.codec.guard)

    def move(record: bytes, *parts: str) -> bytes:
        try:
            kind, payload = unseal(reader.place + place(*parts), record)
        except CorruptCheckpointError as error:
            raise held_in(error, f"Namespace {lane.ns!r}", reader.thread_id) from error
        return seal(kind, here + place(*parts), payload)

    rows: list[CheckpointRow] = yield ReadCheckpoints(lane.lane)
    writes = yield from writes_of(lane.lane, rows)
    versions: list[Version] = yield ListValues(lane.lane)
    for some in _batches(versions):
        records: list[bytes | None] = yield ReadValues(lane.lane, some)
        if None in records:
            raise _pruned(reader.thread_id)
        batch = target.batch(lane.ns)
        batch.values = [
            (channel, key, move(record, unpack(key), channel))
            for (channel, key), record in zip(some, records, strict=True)
            if record is not None
        ]
        yield from target.send(batch)
    for start in range(0, len(rows), BATCH):
        batch = target.batch(lane.ns)
        batch.checkpoints = [
            (row.id, row.parent, move(row.record, unpack(row.id), ""))
            for row in rows[start : start + BATCH]
        ]
        batch.writes = [
            (w.checkpoint, w.task, w.path,
             move(w.record, unpack(w.checkpoint), f"writes:{unpack(w.task)}"))
            for row in rows[start : start + BATCH]
            for w in writes[row.id]
        ]  # fmt: skip
        yield from target.send(batch)
    return {row.id for row in rows}


def _pruned(thread_id: str) -> ThreadBusyError:
    return ThreadBusyError(f"Thread {thread_id!r} was pruned while it was copied. Copy it again.")


def _batches(rows: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]


__all__ = ["copy_thread"]
