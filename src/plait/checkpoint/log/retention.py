"""Deleting and pruning, as plans.

Pruning keeps some checkpoints of a lane and drops the rest, with every version of a channel that
only they needed. A kept checkpoint whose parent is dropped gets a full map, so that it loads
without its ancestors; the records of values stay where they are, and so do those that forks share.
The lane of a graph inside a task goes with the root's checkpoint that the task belonged to; of a
graph with memory, what kept checkpoints remember is kept (see `memories`).

A thread is claimed for as long as it takes, and not at all where nothing is to be done; one that a
live run owns is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias, TypeVar

from plait.checkpoint.base.port import Plan
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
    Done,
    DropLane,
    LaneRow,
    ListLanes,
    ListThreads,
    ListValues,
    ReadCheckpoints,
    ReadLane,
    ReadValues,
    Refused,
)
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.serde import place, seal
from plait.constants import NS_END, NS_SEP
from plait.engine.past import PAST
from plait.engine.records import Mark
from plait.errors import ConfigError, ThreadBusyError, nearest

T = TypeVar("T")
Version: TypeAlias = tuple[str, bytes]
OpenSession: TypeAlias = Callable[[str], LogSession]
THREAD_TTL = "thread_ttl"
"""The key of `configurable` that says how many seconds a thread is kept."""
BATCH = 256


class Progress(NamedTuple):
    """How far long work has come."""

    thread_id: str
    """The thread that was just dealt with."""
    done: int
    """How many threads were."""
    total: int | None
    """Of how many, where that is known."""


Tell: TypeAlias = Callable[[Progress], None] | None
Keep: TypeAlias = Callable[[int, str, Mapping[str, Any]], bool]
"""Whether the n-th newest checkpoint of its lane (from 0), made at a time, with its metadata, is
kept."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Which checkpoints of a lane are kept."""

    keep_last: int
    older_than: datetime | None

    @classmethod
    def of(
        cls, strategy: str, keep_last: int | None, older_than: str | datetime | timedelta | None
    ) -> Rule:
        """The rule that `prune`'s arguments ask for. Raises ConfigError."""
        if strategy not in ("keep_latest", "delete"):
            raise ConfigError(
                f"Unknown strategy {strategy!r}. {nearest(strategy, ('keep_latest', 'delete'))}"
            )
        if keep_last is None:
            keep_last = 1 if strategy == "keep_latest" else 0
        if keep_last < 0:
            raise ConfigError(f"keep_last is {keep_last}; keep 0 or more checkpoints.")
        return cls(keep_last, None if older_than is None else moment(older_than))

    def keeps(self, place: int, ts: str, metadata: Mapping[str, Any]) -> bool:
        """Whether the `place`-th newest checkpoint (0: the newest), made at `ts`, is kept."""
        return place < self.keep_last or (
            self.older_than is not None and moment(ts) >= self.older_than
        )


def moment(given: str | datetime | timedelta) -> datetime:
    """A time: as it is, from ISO 8601, or so long ago. Without a time zone, it is UTC.

    Raises:
        ConfigError: it is none.
    """
    if isinstance(given, timedelta):
        return datetime.now(UTC) - given
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise ConfigError(
                f"{given!r} is no time. Give one in ISO 8601, such as 2026-01-31T12:00:00+00:00."
            ) from None
    return given if given.tzinfo is not None else given.replace(tzinfo=UTC)


def delete_thread(session: LogSession) -> Plan[None]:
    """Delete all lanes of a thread, under a claim."""
    lanes: list[LaneRow] = yield ListLanes(session.thread_id)
    if lanes:
        yield from released(session, _claim_and_drop(session))


def _claim_and_drop(session: LogSession) -> Plan[None]:
    yield from session.claim()
    yield from drop_lanes(session)


def drop_lanes(session: LogSession) -> Plan[None]:
    """Delete all lanes of a thread that is claimed, and the claim with them."""
    lanes: list[LaneRow] = yield ListLanes(session.thread_id)
    for lane in sorted(lanes, key=_root_last):
        yield from _drop_lane(session, lane.lane)
    session.forget_claim()


def released(session: LogSession, work: Plan[T]) -> Plan[T]:
    """Do work that claims the thread, and give the claim back, however the work ends: a claim that
    failed may have been stored all the same."""
    try:
        result = yield from work
    except GeneratorExit:  # whoever did the requests is gone
        raise
    except BaseException:
        yield from session.release()
        raise
    yield from session.release()
    return result


def _root_last(lane: LaneRow) -> bool:
    return lane.ns == ""


def _drop_lane(session: LogSession, lane: int) -> Plan[None]:
    answer: Done | Refused = yield DropLane(lane, session.thread_id, session.fence)
    if isinstance(answer, Refused):
        raise ThreadBusyError(
            f"Thread {session.thread_id!r} was taken over by another run while it was deleted; "
            "some of its history may be gone. Delete it again when that run has ended."
        )
    if session.recent is not None:
        session.recent.drop(lane)


def prune(session: LogSession, rule: Rule) -> Plan[None]:
    """Drop the checkpoints of a thread that a rule does not keep, under a claim."""
    if rule.keep_last == 0 and rule.older_than is None:
        yield from delete_thread(session)
    else:
        yield from _prune_thread(session, _Law(rule.keeps, rule.keep_last > 0, True))


def prune_threads(
    open_session: OpenSession, thread_ids: Sequence[str], rule: Rule, tell: Tell
) -> Plan[None]:
    """Prune several threads; those in use are left for last, and told of in the error."""
    busy: list[str] = []
    for done, thread_id in enumerate(thread_ids, 1):
        try:
            yield from prune(open_session(thread_id), rule)
        except ThreadBusyError:
            if len(thread_ids) == 1:
                raise
            busy.append(thread_id)
        if tell is not None:
            tell(Progress(thread_id, done, len(thread_ids)))
    _raise_busy(busy, "pruned")


def delete_for_runs(open_session: OpenSession, run_ids: Sequence[str], tell: Tell) -> Plan[None]:
    """Drop the checkpoints of all threads whose metadata names one of the runs."""
    wanted = set(run_ids)
    busy: list[str] = []

    def keep(nth: int, ts: str, metadata: Mapping[str, Any]) -> bool:
        return metadata.get("run_id") not in wanted

    law = _Law(keep, False, False)  # what a run remembered was asked to go
    after, done, more = 0, 0, True
    while more:
        page: list[LaneRow] = yield ListThreads(after, BATCH)
        for row in page:
            try:
                yield from _prune_thread(open_session(row.thread_id), law)
            except ThreadBusyError:
                busy.append(row.thread_id)
            done += 1
            if tell is not None:
                tell(Progress(row.thread_id, done, None))
        more = len(page) == BATCH
        after = page[-1].lane if page else after
    _raise_busy(busy, "changed")


def _raise_busy(busy: Sequence[str], what: str) -> None:
    if busy:
        names = ", ".join(map(repr, busy[:5])) + (", ..." if len(busy) > 5 else "")
        raise ThreadBusyError(
            f"{len(busy)} thread{'s' * (len(busy) > 1)} in use, and not {what}: {names}. All "
            "others were. Try again when their runs have ended."
        )


class Swept(NamedTuple):
    """What a sweep did."""

    deleted: list[str]
    busy: list[str]
    """Threads whose time was over, and that a live run owns."""


def sweep(open_session: OpenSession, ttl: float | None, now: datetime, tell: Tell) -> Plan[Swept]:
    """Delete the threads whose last checkpoint is older than they are kept, and those that a run or
    a copy left at its very start, when it died."""
    swept = Swept([], [])
    after, done, more = 0, 0, True
    while more:
        page: list[LaneRow] = yield ListThreads(after, BATCH)
        for row in page:
            session = open_session(row.thread_id)
            if (yield from _is_over(session, row, ttl, now)):
                try:
                    gone = yield from released(session, _delete_at(session, row.head))
                except ThreadBusyError:
                    swept.busy.append(row.thread_id)
                else:
                    if gone:
                        swept.deleted.append(row.thread_id)
            done += 1
            if tell is not None:
                tell(Progress(row.thread_id, done, None))
        more = len(page) == BATCH
        after = page[-1].lane if page else after
    return swept


def _is_over(session: LogSession, row: LaneRow, ttl: float | None, now: datetime) -> Plan[bool]:
    if row.head is None:
        return ttl is not None and (yield from _is_deserted(session, row, ttl, now))
    reader = LaneReader(row.thread_id, "", session.codec, row.lane)
    found = yield from reader.row(row.head)
    return found is not None and _is_past(reader, found, ttl, now)


def _is_past(reader: LaneReader, row: CheckpointRow, ttl: float | None, now: datetime) -> bool:
    """Whether a checkpoint is older than its thread is kept."""
    ts, metadata, _ = reader.body(reader.open_checkpoint(row))
    own = metadata.get(THREAD_TTL)
    seconds = own if isinstance(own, (int, float)) and not isinstance(own, bool) else ttl
    return seconds is not None and moment(ts) + timedelta(seconds=seconds) <= now


def _is_deserted(session: LogSession, row: LaneRow, ttl: float, now: datetime) -> Plan[bool]:
    """Whether a thread has no head, nobody who is about to store one, and nothing that is kept: a
    program may have put checkpoints into inner namespaces alone."""
    clock = now.timestamp() if row.clock is None else row.clock
    if row.lease is not None and row.lease > clock:
        return False
    lanes: list[LaneRow] = yield ListLanes(row.thread_id)
    for lane in lanes:
        reader = LaneReader(row.thread_id, lane.ns, session.codec, lane.lane)
        newest: list[CheckpointRow] = yield ReadCheckpoints(lane.lane, limit=1, newest_first=True)
        if newest and not _is_past(reader, newest[0], ttl, now):
            return False
    return True


def _delete_at(session: LogSession, head: bytes | None) -> Plan[bool]:
    """Delete a thread, unless it has moved on from where it was judged."""
    yield from session.claim()
    row: LaneRow | None = yield ReadLane(session.thread_id, "")
    if row is None or row.head != head:
        return False
    yield from drop_lanes(session)
    return True


# --- one thread ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Roots:
    """The root lane after pruning, as the lanes of graphs inside its tasks see it."""

    head: bytes | None
    left: set[bytes] = field(default_factory=set[bytes])
    pinned: dict[str, set[bytes]] = field(default_factory=dict[str, set[bytes]])
    """Checkpoints that a kept replay starts from: namespace -> ids."""
    marks: list[Mark] = field(default_factory=list[Mark])
    """All that there were, newest first."""
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


def _prune_thread(session: LogSession, law: _Law) -> Plan[None]:
    """Drop what is not kept. Claims the thread, unless there is nothing to drop."""
    yield from released(session, _prune_lanes(session, law))


def _prune_lanes(session: LogSession, law: _Law) -> Plan[None]:
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


class _Law(NamedTuple):
    """Which checkpoints stay."""

    keep: Keep
    spare_head: bool
    """Whether the newest of each lane stays in any case."""
    recall: bool
    """Whether what stays keeps its memory."""


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


def _judge_lanes(session: LogSession, law: _Law, *, look: bool = False) -> Plan[list[_Judged]]:
    """The lanes from the root's to the innermost: those of graphs inside tasks follow it. To `look`
    whether there is anything to drop, the first lane that loses something is enough."""
    lanes: list[LaneRow] = yield ListLanes(session.thread_id)
    judged: list[_Judged] = []
    roots: _Roots | None = None
    for lane in sorted(lanes, key=depth):
        reader = LaneReader(lane.thread_id, lane.ns, session.codec, lane.lane)
        rows, kept, roots = yield from _judge(reader, lane, law, roots)
        judged.append(_Judged(reader, rows, kept, lane.head, roots.past if roots else None))
        if look and not judged[-1].stays:
            break
    return judged


def depth(lane: LaneRow) -> int:
    """How many tasks a lane is inside of (the root: none)."""
    return 1 + lane.ns.count(NS_SEP) if lane.ns else 0


def _judge(
    reader: LaneReader, lane: LaneRow, law: _Law, roots: _Roots | None
) -> Plan[tuple[list[CheckpointRow], set[bytes], _Roots | None]]:
    """The checkpoints of a lane, which of them are kept, and the root lane as it will be."""
    rows: list[CheckpointRow] = yield ReadCheckpoints(lane.lane, newest_first=True)
    kept: set[bytes] = set()
    if lane.ns == "":
        roots = _Roots(lane.head)
    inside = roots if NS_END in lane.ns else None
    pinned = roots.pinned.get(lane.ns, ()) if roots is not None else ()
    memories: list[Remembered] = []
    for n, row in enumerate(rows):
        ts, metadata, frontier = reader.body(reader.open_checkpoint(row))
        stays = law.keep(n, ts, metadata) or (law.spare_head and row.id == lane.head)
        if inside is not None:
            stays = stays and inside.reaches(metadata)
        elif lane.ns != "":
            memories.append(remembered(row.id, metadata))
        elif roots is not None:
            roots.marks.append(reader.mark_of(row, metadata, frontier))
        if stays or row.id in pinned:
            kept.add(row.id)
            if lane.ns == "" and roots is not None:
                roots.keep(row, frontier)
    if lane.ns == "" and roots is not None:
        roots.past = Past(roots.marks[::-1], kept)
    elif roots is not None and roots.past is not None and memories:
        kept |= roots.past.recall(memories, kept, pin=law.recall)
    return rows, kept, roots


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
            yield from _drop_lane(session, reader.lane)
        return
    stored: list[Version] = yield ListValues(reader.lane)
    if judged.stays:
        if reader.ns != "":
            yield from _closure(reader, stored, lent)
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
    needed = yield from _closure(reader, needed, lent)
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
    reader: LaneReader, roots: Iterable[Version], lent: dict[str, set[Version]]
) -> Plan[set[Version]]:
    """All versions of the lane that reading some versions touches; those of others go to `lent`."""
    seen: set[Version] = set(roots)
    front = list(seen)
    while front:
        some, front = front[:BATCH], front[BATCH:]
        records: list[bytes | None] = yield ReadValues(reader.lane, some)
        for (channel, key), record in zip(some, records, strict=True):
            kind, payload = reader.open_value(channel, key, record)
            for base in _stands_on(kind, payload):
                if (channel, base) not in seen:
                    seen.add((channel, base))
                    front.append((channel, base))
            for loan in read_borrowed(payload)[1] if kind == BORROWED else ():
                lent.setdefault(loan.ns, set()).add((loan.channel, loan.version))
    return seen


def _stands_on(kind: int, payload: bytes) -> list[bytes]:
    """The other versions of its channel that a record points at."""
    if kind in (LIST_PATCH, DICT_PATCH):
        return [read_patch(kind, payload).base]
    if kind == MANIFEST:
        return [run[0] for run in read_manifest(payload).runs]
    return []


__all__ = [
    "THREAD_TTL",
    "Progress",
    "Rule",
    "Swept",
    "Tell",
    "delete_for_runs",
    "delete_thread",
    "depth",
    "drop_lanes",
    "moment",
    "prune",
    "prune_threads",
    "released",
    "sweep",
]
