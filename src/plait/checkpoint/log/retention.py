"""What is kept, and for how long: pruning and deleting threads, as plans.

Threads are dealt with one by one (see `pruning` and `deleting`); one that a live run owns, or that
is damaged, is left alone, and holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias, cast

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.asked import count_of, ttl_of
from plait.checkpoint.log.deleting import delete_thread, drop_lanes, released
from plait.checkpoint.log.progress import Progress, Tell, telling
from plait.checkpoint.log.pruning import BATCH, Law, prune_thread
from plait.checkpoint.log.reader import LaneReader
from plait.checkpoint.log.requests import (
    CheckpointRow,
    LaneRow,
    ListLanes,
    ListThreads,
    ReadCheckpoints,
    ReadLane,
)
from plait.checkpoint.log.session import LogSession
from plait.errors import (
    ConfigError,
    ConfigTypeError,
    CorruptCheckpointError,
    ThreadBusyError,
    nearest,
)

OpenSession: TypeAlias = Callable[[str], LogSession]
THREAD_TTL = "thread_ttl"
"""The key of `configurable` that says how many seconds a thread is kept."""


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
        if isinstance(older_than, timedelta) and older_than < timedelta(0):
            raise ConfigError(f"older_than is {older_than}: pass how long ago, 0 or more.")
        return cls(
            count_of(keep_last, "keep_last"), None if older_than is None else moment(older_than)
        )

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
    if not isinstance(cast("Any", given), (str, datetime, timedelta)):
        raise ConfigTypeError(
            f"A value of type {type(given).__name__} is no time: pass a datetime, ISO 8601, or a "
            "timedelta for so long ago."
        )
    if isinstance(given, timedelta):
        try:
            return datetime.now(UTC) - given
        except OverflowError:
            raise ConfigError(
                f"There was no time {given.days} days ago: give a later one."
            ) from None
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise ConfigError(
                f"{given!r} is no time. Give one in ISO 8601, such as 2026-01-31T12:00:00+00:00."
            ) from None
    return given if given.tzinfo is not None else given.replace(tzinfo=UTC)


def prune(session: LogSession, rule: Rule) -> Plan[None]:
    """Drop the checkpoints of a thread that a rule does not keep, under a claim."""
    if rule.keep_last == 0 and rule.older_than is None:
        yield from delete_thread(session)
    else:
        yield from prune_thread(session, Law(rule.keeps, rule.keep_last > 0, True))


def prune_threads(
    open_session: OpenSession, thread_ids: Sequence[str], rule: Rule, tell: Tell
) -> Plan[None]:
    """Prune several threads; those in use or damaged are left, and told of in the error."""
    left, total = _Left(), len(thread_ids)
    for done, thread_id in enumerate(thread_ids):
        work = telling(prune(open_session(thread_id), rule), tell, thread_id, done, total)
        yield from work if total == 1 else left.try_at(thread_id, work)
        if tell is not None:
            tell(Progress(thread_id, done + 1, total))
    left.tell("pruned")


def delete_for_runs(open_session: OpenSession, run_ids: Collection[str], tell: Tell) -> Plan[None]:
    """Drop the checkpoints of all threads whose metadata names one of the runs."""

    def keep(nth: int, ts: str, metadata: Mapping[str, Any]) -> bool:
        run_id = metadata.get("run_id")
        return run_id is None or str(run_id) not in run_ids

    law = Law(keep, False, False)  # what a run remembered was asked to go
    left = yield from _visit(lambda row: prune_thread(open_session(row.thread_id), law), tell)
    left.tell("changed")


class _Left:
    """The threads that long work left as they are, and why."""

    def __init__(self) -> None:
        self.busy: list[str] = []
        self.damaged: dict[str, CorruptCheckpointError] = {}

    def try_at(self, thread_id: str, work: Plan[None]) -> Plan[None]:
        """Do the work of one thread, as far as that thread allows it."""
        try:
            yield from work
        except ThreadBusyError:
            self.busy.append(thread_id)
        except CorruptCheckpointError as error:
            self.damaged[thread_id] = error

    def tell(self, what: str, others: str = "All others were.") -> None:
        """Raise if any were left, now that all others are done.

        Args:
            what: What was not done to them.
            others: What was done to the others.
        """
        in_use = f"in use, and not {what}: {_named(self.busy)}"
        if self.damaged:
            first = next(iter(self.damaged.values()))
            also = f" {len(self.busy)} more {in_use}." if self.busy else ""
            raise CorruptCheckpointError(
                f"{_counted(self.damaged)} cannot be read, and not {what}: {_named(self.damaged)}. "
                f"{others}{also} The first: {first}"
            ) from first
        if self.busy:
            raise ThreadBusyError(
                f"{_counted(self.busy)} {in_use}. {others} Try again when their runs have ended."
            )


def _named(threads: Iterable[str]) -> str:
    names = [repr(each) for each in threads]
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _counted(threads: Collection[str]) -> str:
    return f"{len(threads)} thread{'s' * (len(threads) > 1)}"


def _visit(work: Callable[[LaneRow], Plan[None]], tell: Tell) -> Plan[_Left]:
    """Do some work with every thread there is. Returns those that were left."""
    left = _Left()
    after, done, more = 0, 0, True
    while more:
        page: list[LaneRow] = yield ListThreads(after, BATCH)
        for row in page:
            at = telling(work(row), tell, row.thread_id, done, None)
            yield from left.try_at(row.thread_id, at)
            done += 1
            if tell is not None:
                tell(Progress(row.thread_id, done, None))
        more = len(page) == BATCH
        after = page[-1].lane if page else after
    return left


class Swept(NamedTuple):
    """What a sweep did."""

    deleted: list[str]
    busy: list[str]
    """Threads whose time was over, and that a live run owns."""


def sweep(open_session: OpenSession, ttl: float | None, now: datetime, tell: Tell) -> Plan[Swept]:
    """Delete the threads whose last checkpoint is older than they are kept, and those that a run or
    a copy left at its very start, when it died."""
    deleted: list[str] = []

    def look(row: LaneRow) -> Plan[None]:
        session = open_session(row.thread_id)
        over = yield from _is_over(session, row, ttl, now)
        if over and (yield from released(session, _delete_at(session, row.head))):
            deleted.append(row.thread_id)

    left = yield from _visit(look, tell)
    if left.damaged:
        left.tell("swept", f"All others were: deleted {len(deleted)} of the threads.")
    return Swept(deleted, left.busy)


def _is_over(session: LogSession, row: LaneRow, ttl: float | None, now: datetime) -> Plan[bool]:
    if row.head is None:
        return ttl is not None and (yield from _is_deserted(session, row, ttl, now))
    reader = LaneReader(row.thread_id, "", session.codec, row.lane)
    found = yield from reader.row(row.head)
    return found is not None and _is_past(reader, found, ttl, now)


def _is_past(reader: LaneReader, row: CheckpointRow, ttl: float | None, now: datetime) -> bool:
    """Whether a checkpoint is older than its thread is kept."""
    ts, metadata, _ = reader.body(reader.open_checkpoint(row))
    try:
        own = ttl_of(metadata.get(THREAD_TTL), THREAD_TTL)
    except ConfigError:  # stored by a saver that did not look; other threads are swept all the same
        own = None
    seconds = ttl if own is None else own
    return seconds is not None and (now - moment(ts)).total_seconds() >= seconds


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


__all__ = [
    "THREAD_TTL",
    "Rule",
    "Swept",
    "delete_for_runs",
    "moment",
    "prune",
    "prune_threads",
    "sweep",
]
