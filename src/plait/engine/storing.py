"""What a run stores, and when: outcomes of tasks, checkpoints, and the end of the claim."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from plait.common.ids import following
from plait.constants import AHEAD, AHEAD_TASK_ID, NO_WRITES
from plait.engine.commands import Command, Commit, Emit, Release, SaveWrites, WriteCache
from plait.engine.frontier import Frontier, stored_writes, without
from plait.engine.migration import Moved
from plait.engine.plan import Writes
from plait.engine.records import NewCheckpoint, Origin, TaskWrites
from plait.engine.reporting import Reporting
from plait.engine.spec import NONE_YET, Env, RunSpec
from plait.engine.state import State
from plait.engine.tasks import Task

if TYPE_CHECKING:
    from plait.engine.questions import Standing
    from plait.engine.whole import Whole

Flow: TypeAlias = Generator[Command, Any, None]


class Storing(Reporting):
    """The storing side of a loop. With `exit` durability, what it would store waits here."""

    __slots__ = (
        "_left",
        "_record",
        "_unsaved",
        "_whole",
        "ahead",
        "asked",
        "began",
        "checkpoint_id",
        "copied",
        "deadline",
        "deferred_writes",
        "env",
        "frontier",
        "journal",
        "last",
        "modes",
        "moved",
        "newest",
        "origin",
        "output",
        "parent_id",
        "plan",
        "saving",
        "source",
        "spec",
        "state",
        "step",
        "stored_id",
        "went_on",
    )

    def __init__(self, spec: RunSpec, env: Env) -> None:
        self.spec = spec
        self.env = env
        self.plan = spec.plan
        self.modes = spec.modes
        self.output = spec.plan.output if spec.output is None else spec.output
        self.went_on = False
        """Whether it runs the super-step of the checkpoint that it starts from."""
        self.newest = max(spec.parents.values(), default="")
        """The greatest id of a checkpoint that is known, of the runs around this one too."""
        self.began: str = ""
        """Checkpoints that this run makes have this id or a later one."""
        self.saving = spec.saved and spec.durability != "exit"
        """Whether every super-step is stored as it ends."""
        self.state = State(self.plan)
        self.frontier = Frontier()
        self.last: tuple[str, ...] = ()
        """The nodes of the super-step that made the current checkpoint."""
        self.asked: Mapping[str, Standing] | None = None
        """Open questions that a checkpoint made by hand took over: place of a task to them, and who
        asked (see `standing_of`)."""
        self.copied: str | None = None
        """The checkpoint of which a copy is made by hand."""
        self.step = -1
        """The number of the super-step that runs now or next."""
        self.checkpoint_id: str | None = None
        self.parent_id: str | None = None
        self.stored_id: str | None = None
        """The last checkpoint that is (or is being) stored."""
        self.source = "input"
        self.origin: Origin | None = None
        """The checkpoint that a replay began at, while its first super-step runs."""
        self.moved: Moved | None = None
        """What the restored checkpoint calls otherwise, until the next one begins."""
        self.ahead: dict[int, str] = NONE_YET
        """Reserved checkpoint ids: the number of a coming super-step -> what its tasks stand on."""
        self.journal: dict[str, Writes] = NONE_YET
        """Known outcomes of tasks that were not prepared yet, by task id."""
        self.deferred_writes: list[TaskWrites] = []
        """Outcomes that `exit` durability stores at the end."""
        self.deadline: float | None = spec.deadline
        """When the run, and what continues it, must have ended (seconds since the epoch)."""
        self.parts: list[tuple[tuple[str, ...], str, Any]] = []
        self._record: dict[str, Any] = NONE_YET
        """What the last checkpoint says of what runs next."""
        self._unsaved: list[Task] = []
        self._whole: Whole | None = None
        """With `exit` durability, while a super-step ends: what to go back to."""
        self._left = not spec.saved
        """Whether the thread was given back (or there is none)."""

    def _acknowledge(self, *, release: bool = False, extra: Sequence[TaskWrites] = ()) -> Flow:
        """Store what tasks wrote, then tell it."""
        done, self._unsaved = self._unsaved, []
        outcomes = [self._outcome_of(task) for task in done] if self.spec.saved else []
        outcomes.extend(extra)
        for task in done:
            task.saved = True
        if self.spec.cache is not None:
            yield from self._keep(done)
        if self.saving:
            if outcomes:
                yield SaveWrites(outcomes, release=release)
                self._left = self._left or release
            elif release:
                yield from self._leave()
        elif self.spec.saved:
            self.deferred_writes.extend(outcomes)
            if release:
                yield from self._leave()
        self._report_done(done)
        if self.parts:
            yield Emit(self._take_parts())

    def _keep(self, done: Sequence[Task]) -> Flow:
        """Put the results of tasks that were looked up in vain into the cache."""
        fresh = [task for task in done if task.cached is False]
        if fresh:
            yield WriteCache(fresh)

    def _outcome_of(self, task: Task) -> TaskWrites:
        writes = task.writes
        if self.plan.untracked:
            writes = stored_writes(writes, self.plan.untracked)
        writes = writes or [(NO_WRITES, None)]
        if self.moved is not None:
            writes = [*writes, *self.moved.mark]
        if task.prior:
            writes = [*task.prior, *writes]
        return task.outcome(writes)

    def new_checkpoint(self, source: str) -> NewCheckpoint:
        """The current state as a checkpoint to commit; it becomes the current one."""
        parent = self.stored_id
        self.unsaved_checkpoint(source)
        return self._checkpoint(parent)

    def unsaved_checkpoint(self, source: str) -> None:
        """Begin the next checkpoint without storing it (yet)."""
        # `exit` durability stores the last of its checkpoints: all stand on what is stored.
        self.parent_id = self.stored_id if self.spec.saved else self.checkpoint_id
        reserved = self.ahead.pop(self.step + 1, None) if self.ahead else None
        self.checkpoint_id = reserved or self.next_id()
        self.source = source
        self.moved = None

    def next_id(self) -> str:
        """An id for a checkpoint that sorts after all that the run knows of, even where the clock
        was set back, or that of another machine is fast."""
        made = self.env.checkpoint_id()
        if made <= self.newest:
            made = following(made, self.newest)
        self.newest = made
        return made

    def _keep_ahead(self) -> list[TaskWrites]:
        """Drop the journal but for what belongs to coming super-steps; that moves on."""
        self.journal = {
            task_id: writes
            for task_id, writes in self.journal.items()
            if any(c == AHEAD and number > self.step for c, number in writes)
        }
        if not self.spec.saved:
            return []
        kept = [TaskWrites(self.checkpoint_id or "", i, "", w) for i, w in self.journal.items()]
        return [*kept, *self._reserved()]

    def _reserved(self) -> list[TaskWrites]:
        """The reserved checkpoint ids, to be stored with the current checkpoint."""
        if not self.ahead:
            return []
        ids = [(AHEAD, dict(self.ahead))]
        return [TaskWrites(self.checkpoint_id or "", AHEAD_TASK_ID, "", ids)]

    def _checkpoint(self, parent: str | None) -> NewCheckpoint:
        assert self.checkpoint_id is not None
        changed, removed = self.state.take_changes()
        if self.plan.untracked and self.plan.entry in changed:
            changed[self.plan.entry] = without(changed[self.plan.entry], self.plan.untracked)
        plan = self.plan
        record = self.frontier.record(plan.untracked)
        if self.last:
            record["last"] = [*self.last]
        if self.origin is not None:
            record["origin"] = self.origin.record()
        if self.copied is not None:
            record["copy_of"] = self.copied
        if not self.saving:
            record["began"] = [self.began, self.went_on]
        if self.asked:
            record["asked"] = dict(self.asked)
        if self.spec.caller is not None:
            record["caller"] = self.spec.caller
        if self.deadline is not None and self.frontier:
            record["deadline"] = self.deadline
        record["graph"] = plan.fingerprint
        if plan.version != 1:
            record["version"] = plan.version
        if "sends" not in record:  # many checkpoints of a loop say the same: they share one record
            if record == self._record:
                record = self._record
            self._record = record
        self.stored_id = self.checkpoint_id
        return NewCheckpoint(
            self.checkpoint_id,
            parent,
            self.env.now(),
            self._metadata(stored=True),
            record,
            changed,
            removed,
        )

    def _leave(self) -> Flow:
        """Give the thread back; with `exit` durability, store first what this run did."""
        if self._left:
            return
        self._left = True
        if self.saving:
            yield Release()
        elif self.spec.saved and self.checkpoint_id is not None:
            try:
                yield from self._store_all()
            except BaseException:
                yield Release()
                raise
        elif self.spec.saved:  # it failed before it stood anywhere; the load may have claimed
            yield Release()

    def _store_all(self) -> Flow:
        """Store what an `exit` run did, and give the thread back with it."""
        writes, self.deferred_writes = _latest(self.deferred_writes), []
        if self.checkpoint_id != self.stored_id:
            step, self.step = self.step, self.step - 1
            checkpoint = self._checkpoint(self.stored_id)
            self.step = step
            yield Commit(checkpoint, writes, release=True)
        elif writes:
            yield SaveWrites(writes, release=True)
        else:
            yield Release()


def _latest(outcomes: Sequence[TaskWrites]) -> list[TaskWrites]:
    """One outcome per task: the last one says all that came before (its answers included)."""
    return list({(each.checkpoint_id, each.task_id): each for each in outcomes}.values())
