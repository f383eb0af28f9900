"""The native port over the log: load, claim, commit, save_writes, release, history.

Calls encode at once; the plans that they return only carry bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from time import time_ns
from typing import NamedTuple, TypeAlias
from warnings import warn

from plait.checkpoint.base.port import NewCheckpoint, Plan, Snapshot, TaskWrites
from plait.checkpoint.log.claims import Hold
from plait.checkpoint.log.deferred import settled, settled_facts
from plait.checkpoint.log.encoding import (
    NONE_SENT,
    Late,
    LogEncoding,
    Merges,
    Parts,
    outcome_of,
)
from plait.checkpoint.log.keys import pack, unpack
from plait.checkpoint.log.meanwhile import sure
from plait.checkpoint.log.reader import LaneReader, own_values, small_of
from plait.checkpoint.log.reading import read_values
from plait.checkpoint.log.recent import Recent
from plait.checkpoint.log.recording import Commit, packed
from plait.checkpoint.log.requests import (
    Append,
    CheckpointRow,
    Done,
    Drain,
    LaneRow,
    ReadCheckpoints,
    ReadLane,
    ReadWrites,
    Refused,
    Transact,
    WriteRow,
)
from plait.checkpoint.log.versions import Version
from plait.checkpoint.serde import Codec
from plait.errors import UnstoredWarning

Join: TypeAlias = "Callable[[Parts, Parts], Parts]"
"""Stored parts and new ones to what is stored then."""
_merges: Callable[[TaskWrites], bool] = attrgetter("merge")


class _Loaded(NamedTuple):
    """What a load stands on."""

    root: LaneRow | None
    """The root lane as it was."""
    of_head: bool
    """Whether the head was loaded: it must be the same then."""

    def is_left(self, root: LaneRow | None) -> bool:
        """Whether the thread, of which this is the root lane now, was claimed or deleted since."""
        before = self.root
        if root is None or before is None:
            return root is not before
        return root.fence != before.fence or (self.of_head and root.head != before.head)


def _replace(stored: Parts, new: Parts) -> Parts:
    """New writes replace what was stored for the channels that they name."""
    named = {channel for channel, _ in new}
    return [*(part for part in stored if part[0] not in named), *new]


class LogSession(LogEncoding):
    """One run's hold on one lane (see `plait.checkpoint.base.port.Session`)."""

    __slots__ = ("_appended", "_begins", "_coming", "_hold", "_loaded", "_tip", "_told")

    def __init__(
        self,
        thread_id: str,
        ns: str,
        codec: Codec,
        hold: Hold,
        *,
        lender: LogSession | None = None,
        drain: Drain | None = None,
        recent: Recent | None = None,
    ) -> None:
        super().__init__(thread_id, ns, codec, lender=lender, drain=drain, recent=recent)
        self._hold = hold
        self._loaded: _Loaded | None = None
        """What the last load stands on, until the claim (None: nothing that a claim must find)."""
        self._appended = False
        self._coming: list[Append] = []
        """Appends that the saver may not have been asked for yet: `async` durability runs ahead."""
        self._tip: str | None = None
        """The checkpoint that this session loaded or made last."""
        self._begins: Transact | None = None
        """The beginning of the run, which is stored with what comes next."""
        self._told = False
        """Whether it was said that nothing is stored any more."""

    @property
    def parked(self) -> bool:
        """Whether the run waits for the consumer of its stream; the driver sets it."""
        return self._hold.parked

    @parked.setter
    def parked(self, value: bool) -> None:
        self._hold.parked = value

    @property
    def gone(self) -> Callable[[], bool]:
        """Says whether what drives the run has ended; the driver sets it."""
        return self._hold.gone

    @gone.setter
    def gone(self, value: Callable[[], bool]) -> None:
        self._hold.gone = value

    @property
    def held(self) -> bool:
        """Whether this run holds the claim."""
        return self._hold.held

    def leave(self) -> bool:
        """Stop waiting for a thread that another run owns: its next look is the last."""
        self._hold.leaving = True
        return True

    @property
    def may_wait(self) -> bool:
        """Whether a claim may wait for another run."""
        return self._hold.policy == "wait"

    @property
    def fence(self) -> int | None:
        """The fence of the claim, if this run holds it."""
        return self._hold.fence if self._hold.held else None

    def forget_claim(self) -> None:
        """The thread was deleted, and the claim with it."""
        self._hold.held = False

    def batch(self, ns: str) -> Transact:
        """An empty transaction on a lane of this thread, for `send`."""
        return Transact(self.thread_id, ns)

    def nested(self, ns: str) -> LogSession:
        """The lane of another namespace of this thread, under the same claim and fence."""
        return LogSession(
            self.thread_id, ns, self.codec, self._hold, lender=self, drain=self._drain,
            recent=self.recent,
        )  # fmt: skip

    # --- reading ---------------------------------------------------------------------------------

    def load(
        self, checkpoint_id: str | None = None, *, to_write: bool = False
    ) -> Plan[Snapshot | None]:
        """Read a checkpoint (None: the head), with values and task writes.

        Args:
            checkpoint_id: Which one.
            to_write: The caller is going to claim the thread; where that must come first, the
                thread is claimed here.

        Raises:
            CorruptCheckpointError: What is stored is damaged.
            ThreadBusyError: Another live run owns the thread.
        """
        return sure(partial(self._load, checkpoint_id, to_write))

    def _load(self, checkpoint_id: str | None, to_write: bool) -> Plan[Snapshot | None]:
        row: LaneRow | None = yield ReadLane(self.thread_id, self.ns)
        self._loaded = None
        if not self._hold.held and (to_write or self.ns == ""):
            root: LaneRow | None = row if self.ns == "" else (yield ReadLane(self.thread_id, ""))
            self._hold.look(root)
            if to_write and self._hold.comes_first():
                yield from self.claim()
                row = yield ReadLane(self.thread_id, self.ns)
            else:
                self._loaded = _Loaded(root, checkpoint_id is None and self.ns == "")
        if row is None:
            return None
        self._lane = row.lane
        wanted = pack(checkpoint_id) if checkpoint_id is not None else row.head
        reader = self._reader(row.lane)
        if wanted is None:
            return None
        rows: list[CheckpointRow] = yield ReadCheckpoints(
            row.lane, wanted, wanted, live=reader.live
        )
        if not rows:
            return None
        found = rows[0]
        frame, point, head = yield from reader.stand(found)
        own = own_values(found)
        if own is not None:
            values, versions = own, {name: Version(found.id, found.id, 0) for name in own}
        else:
            values, versions = yield from read_values(
                reader, point.map, track=True, live=reader.live, small=small_of(head),
                known_only=False,
            )  # fmt: skip
        self._recorder.at, self._versions, self._tip = point.copy(), versions, unpack(found.id)
        self._stored = found.id
        snapshot = yield from reader.snapshot(found, frame, values)
        if row.head is not None and row.head != wanted:
            snapshot.newest = unpack(row.head)
        return snapshot

    def _reader(self, lane: int) -> LaneReader:
        lane_place = self._recorder.lane
        return LaneReader(self.thread_id, self.ns, self.codec, lane, self.recent, lane_place)

    # --- claims ----------------------------------------------------------------------------------

    def claim(self) -> Plan[None]:
        """Take the thread for this run in a transaction of its own.

        Raises:
            ThreadBusyError: Another live run owns the thread.
        """
        yield from self.send(Transact(self.thread_id, ""), claim=True)

    def release(self) -> Plan[None]:
        """Give the claim back, if this run still holds it."""
        hold = self._hold
        if self._begins is not None:
            yield from self.send(self.batch(self.ns), release=True)
            return
        self._leave_lists()
        if hold.held and self._lender is None:
            hold.give_back()
            yield Transact(self.thread_id, "", fence=hold.fence, release=True)

    def _leave_lists(self) -> None:
        """The run ends: who goes on from here need not read what it wrote."""
        if self._written is not None and self._lane is not None:
            self._written.leave(self._lane, self._versions)

    def _moved(self, root: LaneRow | None) -> bool:
        """Whether another run was there since the load: it may have stored task writes only."""
        return self._loaded is not None and self._loaded.is_left(root)

    def send(self, batch: Transact, *, claim: bool = False, release: bool = False) -> Plan[None]:
        """Send a transaction under the claim, taking and giving it back as asked."""
        hold = self._hold
        if self._outlives():
            self._begins = None
            return
        if self._begins is not None:
            begins, self._begins = self._begins, None
            if batch.ns == begins.ns:
                batch.follow(begins)
            else:
                yield from self.send(begins)
        ends, release = release, release and self._lender is None
        if hold.refused and not claim:
            raise hold.lost((yield ReadLane(self.thread_id, "")))
        if not hold.held:
            batch.seed = time_ns() // 1000
        try:
            if hold.policy == "allow":
                answer: Done | Refused = yield batch
            else:
                batch.release = release
                if hold.held:
                    batch.fence, batch.root = hold.fence, hold.root
                    answer = yield batch
                else:
                    answer = yield from hold.acquire(batch, self._moved)
        except BaseException:
            self._forget()
            raise
        if type(answer) is Refused:
            if self._outlives():
                return
            raise hold.lost(answer.root)
        self._loaded = None
        if release:
            hold.give_back()
        if batch.ns == self.ns:
            self._lane = answer.lane
            if batch.checkpoints:
                self._stored = batch.checkpoints[-1][0]
            if ends:
                self._leave_lists()

    def _outlives(self) -> bool:
        """Whether this is a graph inside a run that has ended: the claim was that of the run.

        Nothing of it is stored any more. No later run would go on with its steps, and to claim the
        thread for them would keep the next turn waiting.
        """
        if self._lender is None or not self._hold.over:
            return False
        if not self._told:
            self._told = True
            warn(
                f"The graph at {self.ns!r} of thread {self.thread_id!r} has outlived the run that "
                "called it; what it does from here on is not stored. Have the node wait for it "
                "(asyncio.gather with return_exceptions=True), or compile it with "
                "checkpointer=False.",
                UnstoredWarning,
                stacklevel=2,
            )
        return True

    # --- writing ---------------------------------------------------------------------------------

    def commit(
        self,
        checkpoint: NewCheckpoint,
        writes: Sequence[TaskWrites] = (),
        *,
        claim: bool = False,
        release: bool = False,
        newest: bool = True,
    ) -> Plan[None]:
        """Store a checkpoint and task writes and move the head, in one transaction.

        Args:
            checkpoint: What changed since its parent.
            writes: Outcomes of tasks to acknowledge with it.
            claim: Take the thread first.
            release: Give the thread back after.
            newest: Whether this becomes the head.

        Raises:
            ThreadBusyError: The claim is refused, or was lost to another run.
            UnregisteredTypeError: A value is of a type that the registry does not know.
        """
        try:
            if newest and self._drain is not None and self._hold.held:
                noted = self._noted(checkpoint, writes)
                if noted is not None:
                    release = release and self._lender is None
                    append = Append(self._recorder, self._hold.fence, noted, release)
                    self._coming.append(append)
                    return self._append(append)
            if self._appended:
                self._make_appended()
            batch, merges, late = self._encode(checkpoint, writes, newest)
            self._tip = checkpoint.id
        except BaseException:
            self._forget()  # versions may stand on records that will never be stored
            raise
        if late is not None or merges:
            return self._finish(batch, merges, late=late, claim=claim, release=release)
        return self.send(batch, claim=claim, release=release)

    def put_off(self, checkpoint: NewCheckpoint) -> bool:
        """Store a checkpoint, which begins a run, in the transaction of what is stored next.

        False: this session does not, or it would have to read first; commit it.

        Raises:
            UnregisteredTypeError: A value is of a type that the registry does not know.
        """
        at, parent = self._recorder.at, checkpoint.parent_id
        if self._drain is not None or (at and at.id) != (parent and pack(parent)):
            return False
        try:
            self._begins, _, _ = self._encode(checkpoint, (), True)
            self._tip = checkpoint.id
        except BaseException:
            self._forget()
            raise
        return True

    def _noted(self, checkpoint: NewCheckpoint, writes: Sequence[TaskWrites]) -> Commit | None:
        """The commit as something that cannot change any more, if it follows the last one."""
        if self._tip != checkpoint.parent_id:
            return None
        noted: Commit
        if settled(checkpoint, writes):
            if self._versions:
                for name in (*checkpoint.changed, *checkpoint.removed):
                    self._versions.pop(name, None)
            noted = checkpoint, writes
        elif any(map(_merges, writes)):
            return None
        else:
            facts = (None, NONE_SENT) if settled_facts(checkpoint) else self._body_of(checkpoint)
            body, sent = facts
            values, found = self._encode_values(checkpoint)
            noted = packed(checkpoint, values, self._encode_writes(writes, found, sent)[0], body)
        self._tip, self._appended = checkpoint.id, True
        return noted

    def _append(self, append: Append) -> Plan[None]:
        """Commit what was noted; its rows are made when somebody looks."""
        try:
            answer: Done | Refused = yield append
        except BaseException:
            self._forget()
            raise
        if type(answer) is Refused:
            self._forget()
            if self._outlives():
                return
            raise self._hold.lost(answer.root)
        if append in self._coming:
            self._coming.remove(append)
        self._loaded = None
        if append.release:
            self._hold.give_back()

    def _make_appended(self) -> None:
        """Make the rows of what was only appended: they build on where the session stands."""
        if self._appended and self._drain is not None:
            coming, self._coming = self._coming, []
            self._drain(coming)
            self._appended = False

    def _forget(self) -> None:
        """Stand nowhere: the next commit looks up its parent."""
        self._make_appended()
        self._recorder.at = self._tip = None
        self._versions = {}
        if self._written is not None:
            self._written.forget()

    def _finish(
        self,
        batch: Transact,
        merges: Merges,
        *,
        join: Join = _replace,
        late: Late | None = None,
        claim: bool = False,
        release: bool = False,
    ) -> Plan[None]:
        """Send a transaction for which something stored must be read first."""
        if late is not None:
            checkpoint, body = late
            yield from self._arrive(checkpoint.parent_id)
            self._recorder.add_checkpoint(batch, checkpoint, body)
        if merges:
            yield from self._merge(batch, merges, join)
        yield from self.send(batch, claim=claim, release=release)

    def _arrive(self, checkpoint_id: str | None) -> Plan[None]:
        """Stand at a parent that this session neither loaded nor made."""
        self._recorder.at = None
        if checkpoint_id is None:
            return
        lane: LaneRow | None = yield ReadLane(self.thread_id, self.ns)
        if lane is not None:
            reader = self._reader(lane.lane)
            row = yield from reader.row(pack(checkpoint_id))
            if row is not None:
                at = yield from reader.resolve(row, reader.open_checkpoint(row))
                self._recorder.at = at

    def save_writes(
        self, writes: Sequence[TaskWrites], *, claim: bool = False, release: bool = False
    ) -> Plan[None]:
        """Acknowledge finished tasks, in one transaction.

        Raises:
            ThreadBusyError: The claim is refused, or was lost to another run.
            UnregisteredTypeError: A value is of a type that the registry does not know.
        """
        batch = Transact(self.thread_id, self.ns)
        outcomes, merges = self._encode_writes(writes, {}, NONE_SENT)
        batch.writes = [self._recorder.outcome(*each) for each in outcomes]
        if merges:
            return self._finish(batch, merges, claim=claim, release=release)
        return self.send(batch, claim=claim, release=release)

    def save_merged(self, task: TaskWrites, join: Join) -> Plan[None]:
        """Store one task's writes together with what is stored of it, as `join` says."""
        batch = Transact(self.thread_id, self.ns)
        _, merges = self._encode_writes([task], {}, NONE_SENT)
        return self._finish(batch, merges, join=join)

    def stand_at(self, checkpoint_id: str | None) -> Plan[Sequence[str]]:
        """Build on a checkpoint without reading its values. Returns the channels it holds."""
        self._versions, self._tip = {}, None
        yield from self._arrive(checkpoint_id)
        at = self._recorder.at
        return list(at.map) if at is not None else []

    def _merge(
        self,
        batch: Transact,
        merges: Merges,
        join: Join,
    ) -> Plan[None]:
        """Replace only the named channels of writes that are stored already."""
        lane: LaneRow | None = yield ReadLane(self.thread_id, self.ns)
        rows = list(batch.writes)
        stored: dict[str, dict[bytes, WriteRow]] = {}
        for task, parts in merges:
            if lane is not None:
                at = task.checkpoint_id
                if at not in stored:
                    found: list[WriteRow] = yield ReadWrites(lane.lane, pack(at))
                    stored[at] = {row.task: row for row in found}
                row = stored[at].get(pack(task.task_id))
                if row is not None:
                    parts = join(self._reader(lane.lane).writes_frame(row), parts)
            rows.append(self._recorder.outcome(*outcome_of(task, parts)))
        batch.writes = rows
