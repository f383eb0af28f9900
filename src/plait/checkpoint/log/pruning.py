"""Pruning one thread, as a plan.

Pruning keeps some checkpoints of a lane and drops the rest, with every version of a channel that
only they needed. A kept checkpoint whose parent is dropped gets a full map, so that it loads
without its ancestors; the records of values stay where they are, and so do those that forks share.
The lane of a graph inside a task goes with the root's checkpoint that the task belonged to; of a
graph with memory, what kept checkpoints remember is kept (see `memories`).

A thread is claimed for as long as it takes, and not at all where nothing is to be done.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.deleting import drop, drop_lanes, released
from plait.checkpoint.log.keys import pack, unpack
from plait.checkpoint.log.memories import Past, Remembered, remembered
from plait.checkpoint.log.reader import LaneReader, writes_of
from plait.checkpoint.log.recording import body_of
from plait.checkpoint.log.records import (
    BORROWED,
    CHECKPOINT,
    DICT_PATCH,
    LIST_PATCH,
    MANIFEST,
    CheckpointFrame,
    pack_frame,
    read_borrowed,
    read_manifest,
    read_patch,
    ref_of,
)
from plait.checkpoint.log.requests import (
    CheckpointRow,
    LaneRow,
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadValues,
)
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.serde import place, seal
from plait.constants import NS_END, NS_SEP
from plait.engine.past import PAST
from plait.engine.records import Mark

Version: TypeAlias = tuple[str, bytes]
Keep: TypeAlias = Callable[[int, str, Mapping[str, Any]], bool]
"""Whether the n-th newest checkpoint of its lane (from 0), made at a time, with its metadata, is
kept."""
BATCH = 256
"""How many records, or threads, are asked for at once."""


class Law(NamedTuple):
    """Which checkpoints stay."""

    keep: Keep
    spare_head: bool
    """Whether the newest of each lane stays in any case."""
    recall: bool
    """Whether what stays keeps its memory."""


def prune_thread(session: LogSession, law: Law) -> Plan[None]:
    """Drop what is not kept. Claims the thread, unless there is nothing to drop."""
    yield from released(session, _prune_lanes(session, law))


def _prune_lanes(session: LogSession, law: Law) -> Plan[None]:
    """Lane by lane, those of graphs inside tasks first: what is left of them may borrow outside."""
    judged = yield from _judge_lanes(session, law, look=True)
    if all(each.stays for each in judged):
        return
    yield from session.claim()  # judge again what nobody else can change now
    judged = yield from _judge_lanes(session, law)
    if judged and judged[0].reader.ns == "" and judged[0].rows and not judged[0].kept:
        yield from drop_lanes(session)
        return
    lent: dict[str, set[Version]] = {}
    for each in reversed(judged):
        yield from _keep(session, each, lent)


@dataclass(slots=True)
class _Roots:
    """The root lane after pruning, as the lanes of graphs inside its tasks see it."""

    head: bytes | None
    """None: there is none, or no root lane."""
    left: set[bytes] = field(default_factory=set[bytes])
    pinned: dict[str, set[bytes]] = field(default_factory=dict[str, set[bytes]])
    """Checkpoints that a kept replay starts from: namespace -> ids."""
    past: Past | None = None
    """Who remembers what; made when the root lane is judged."""

    def keep(self, row: CheckpointRow, frontier: Mapping[str, Any]) -> None:
        """A checkpoint of the root is kept, with those that it stands for."""
        self.left.add(row.id)
        copied = frontier.get("copy_of")
        if copied is not None:
            self.left.add(pack(copied))
        if "origin" in frontier:
            _, checkpoint_id, inside = frontier["origin"]
            self.left.add(pack(checkpoint_id))
            for ns, id in inside.items():
                self.pinned.setdefault(ns, set()).add(pack(id))

    def reaches(self, metadata: Mapping[str, Any]) -> bool:
        """Whether a checkpoint inside a task belongs to a step that is left, or still to come."""
        parents: Mapping[str, str] = metadata.get("parents") or {}
        root = parents.get("")
        if root is None:
            return True
        key = pack(root)
        return key in self.left or self.head is None or key > self.head


class _Judged(NamedTuple):
    """One lane, and which of its checkpoints are kept."""

    reader: LaneReader
    rows: list[CheckpointRow]
    kept: set[bytes]
    head: bytes | None
    past: Past | None
    """Who remembers what."""

    @property
    def stays(self) -> bool:
        """Whether nothing of it goes."""
        return len(self.kept) == len(self.rows)


def _judge_lanes(session: LogSession, law: Law, *, look: bool = False) -> Plan[list[_Judged]]:
    """The lanes from the root's to the innermost: those of graphs inside tasks follow it. To `look`
    whether there is anything to drop, the first lane that loses something is enough."""
    lanes: list[LaneRow] = yield ListLanes(session.thread_id)
    judged: list[_Judged] = []
    roots = _Roots(None)
    for lane in sorted(lanes, key=depth):
        reader = LaneReader(lane.thread_id, lane.ns, session.codec, lane.lane)
        rows: list[CheckpointRow] = yield ReadCheckpoints(lane.lane, newest_first=True)
        if lane.ns == "":
            roots = _Roots(lane.head)
            kept = _judge_root(reader, rows, law, roots)
        else:
            kept = _judge_inside(reader, rows, lane.head, law, roots)
        judged.append(_Judged(reader, rows, kept, lane.head, roots.past))
        if look and not judged[-1].stays:
            break
    return judged


def depth(lane: LaneRow) -> int:
    """How many tasks a lane is inside of (the root: none)."""
    return 1 + lane.ns.count(NS_SEP) if lane.ns else 0


def _judge_root(
    reader: LaneReader, rows: Sequence[CheckpointRow], law: Law, roots: _Roots
) -> set[bytes]:
    """Which checkpoints of the root lane are kept; `roots` learns of it."""
    kept: set[bytes] = set()
    marks: list[Mark] = []
    for n, row in enumerate(rows):
        ts, metadata, frontier = reader.body(reader.open_checkpoint(row))
        marks.append(reader.mark_of(row, metadata, frontier))
        if law.keep(n, ts, metadata) or (law.spare_head and row.id == roots.head):
            kept.add(row.id)
            roots.keep(row, frontier)
    roots.past = Past(marks[::-1], kept)
    return kept


def _judge_inside(
    reader: LaneReader, rows: Sequence[CheckpointRow], head: bytes | None, law: Law, roots: _Roots
) -> set[bytes]:
    """Which checkpoints of a graph inside a task are kept, or of one with a memory of its own."""
    remembers = NS_END not in reader.ns
    pinned = roots.pinned.get(reader.ns, ())
    kept: set[bytes] = set()
    memories: list[Remembered] = []
    for n, row in enumerate(rows):
        ts, metadata, _ = reader.body(reader.open_checkpoint(row))
        stays = law.keep(n, ts, metadata) or (law.spare_head and row.id == head)
        if remembers:
            memories.append(remembered(row.id, metadata))
        else:
            stays = stays and roots.reaches(metadata)
        if stays or row.id in pinned:
            kept.add(row.id)
    if roots.past is not None and memories:
        kept |= roots.past.recall(memories, kept, pin=law.recall)
    return kept


def _keep(session: LogSession, judged: _Judged, lent: dict[str, set[Version]]) -> Plan[None]:
    """Drop all but the kept checkpoints of a lane (none: the lane), in one transaction.

    Args:
        session: Holds the claim.
        judged: The lane.
        lent: By namespace the versions that graphs inside still borrow; what is left of this lane
            adds its own loans.
    """
    reader, rows, kept, head, past = judged
    borrowed = lent.get(reader.ns, set())
    if borrowed and not kept:
        kept = {rows[0].id}  # a lane is where its checkpoints are
    if not kept:
        if rows:
            yield from drop(session, [reader.lane])
        return
    listed: list[Version] = yield ListValues(reader.lane)
    stored = sorted(listed)
    if judged.stays:
        if reader.ns != "":
            yield from _closure(reader, stored, stored, lent)
        return
    by_id = {row.id: row for row in rows}
    batch = session.batch(reader.ns)
    rewritten: list[tuple[bytes, bytes | None, bytes]] = []
    needed = {*borrowed}
    staying = [row for row in rows if row.id in kept]
    writes = yield from writes_of(reader.lane, staying)
    for row in staying:
        frame = reader.open_checkpoint(row)
        point = yield from reader.resolve(row, frame)
        needed.update(point.map.items())
        if row.parent is not None and row.parent not in kept:
            parent = _kept_ancestor(row, by_id, kept)
            if reader.ns == "" and past is not None and past.recalled:
                frame = _with_past(reader, frame, past.lost(row.id, parent))
            rewritten.append((row.id, parent, _with_full_map(reader, row.id, frame, point.map)))
        for write in writes[row.id]:
            needed.update(
                (ref.channel, ref.version)
                for ref in [ref_of(data) for _, data in reader.writes_frame(write)]
                if ref is not None
            )
    needed = yield from _closure(reader, needed, stored, lent)
    batch.checkpoints = rewritten
    batch.drop_checkpoints = [row.id for row in rows if row.id not in kept]
    batch.drop_values = [version for version in stored if version not in needed]
    if head is not None and head not in kept:
        batch.head = max(kept)
    yield from session.send(batch)
    if session.recent is not None:
        session.recent.drop(reader.lane)


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
    payload = pack_frame((None, 0, frame.changed, frame.removed, full, frame.body))
    return seal(CHECKPOINT, reader.place + place(unpack(key), ""), payload)


def _with_past(reader: LaneReader, frame: CheckpointFrame, lost: Sequence[str]) -> CheckpointFrame:
    """A checkpoint that also says which super-steps it came from, of those that are dropped."""
    ts, metadata, frontier = reader.body(frame)
    body = body_of(reader.codec, ts, metadata, {**frontier, PAST: [*lost]})
    return frame._replace(body=body)


def _closure(
    reader: LaneReader,
    roots: Iterable[Version],
    stored: Sequence[Version],
    lent: dict[str, set[Version]],
) -> Plan[set[Version]]:
    """All versions of the lane that reading some versions touches; those of others go to `lent`.

    `stored`, the versions that there are, in order, say what is worth reading ahead.
    """
    seen: set[Version] = set(roots)
    front = list(seen)
    while front:
        here, front = front[:BATCH], front[BATCH:]
        asked = [*here, *_likely(here, stored)]
        records = dict(zip(asked, (yield ReadValues(reader.lane, asked)), strict=True))
        while here:
            channel, key = here.pop()
            kind, payload = reader.open_value(channel, key, records[channel, key])
            for base in _stands_on(kind, payload):
                if (channel, base) not in seen:
                    seen.add((channel, base))
                    (here if (channel, base) in records else front).append((channel, base))
            for loan in read_borrowed(payload)[1] if kind == BORROWED else ():
                lent.setdefault(loan.ns, set()).add((loan.channel, loan.version))
    return seen


def _likely(versions: Sequence[Version], stored: Sequence[Version]) -> Iterable[Version]:
    """What fills a batch: a version stands on the one before it, and that on the one before."""
    each = (BATCH - len(versions)) // len(versions)
    found: dict[Version, None] = {}
    for version in versions:
        end = bisect_left(stored, version)
        before = stored[max(0, end - each) : end]
        found.update(dict.fromkeys(at for at in before if at[0] == version[0]))
    for version in versions:
        found.pop(version, None)
    return found


def _stands_on(kind: int, payload: bytes) -> list[bytes]:
    """The other versions of its channel that a record points at."""
    if kind in (LIST_PATCH, DICT_PATCH):
        return [read_patch(kind, payload).base]
    if kind == MANIFEST:
        return [run[0] for run in read_manifest(payload).runs]
    return []


__all__ = ["BATCH", "Law", "Version", "depth", "prune_thread"]
