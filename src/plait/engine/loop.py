"""The super-step loop: a generator that yields commands and is sent events.

One pass: prepare the tasks of the frontier; stop at breakpoints; run the tasks, acknowledging
finished ones while others still run; apply all writes in their deterministic order; commit; report.
It decides everything and does nothing: see `commands` for what it asks of a driver, `events` for
what it hears.

Rules it keeps:

- Order of completion never changes the result: writes apply by task order, ids derive from places.
- A task's writes are acknowledged (stored) before anything is built on them; an acknowledged task
  never runs again.
- The last tasks of a super-step, the new checkpoint and the head share one transaction.
- Parts of `updates`, `tasks` and `values` are emitted after what they tell is stored.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from plait.common.failures import note
from plait.constants import PULL, PUSH
from plait.engine import report, restore
from plait.engine.commands import Cancel, Command, Commit, Emit, Run
from plait.engine.ends import asking, failure_of, reopened
from plait.engine.events import TaskCalled, TaskFailed, TaskFinished
from plait.engine.frontier import send_key, sends_of
from plait.engine.migration import adapt
from plait.engine.plan import NodePlan
from plait.engine.questions import standing_of
from plait.engine.records import Mark, Origin, Snapshot, TaskWrites
from plait.engine.reporting import task_order
from plait.engine.running import WAIT, Running
from plait.engine.spec import NO_ITEMS, Env, Outcome, RunSpec
from plait.engine.state import State
from plait.engine.storing import Flow
from plait.engine.tasks import Step, Task
from plait.engine.whole import Whole
from plait.errors import (
    EmptyChannelError,
    GraphBubbleUp,
    GraphDrained,
    GraphRecursionError,
    InvalidUpdateError,
    MigrationError,
    UnknownNodeError,
    mark_open_again,
    nearest,
    renaming,
)
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.common.belongings import Belongings
    from plait.runtime import RunControl


_NOWHERE: frozenset[str] = frozenset()
_BY_SEND = (PUSH,)
_path = attrgetter("path")
"""Sorts the tasks of a super-step, without those that they called, as `task_order` does."""


class Loop(Running):
    """One run of one graph (nested runs are loops of their own)."""

    __slots__ = (
        "_fleeting",
        "_seen",
        "belongings",
        "came_from",
        "control",
        "outcome",
        "resumed",
        "run_id",
        "shown",
        "start",
        "stop",
    )

    def __init__(self, spec: RunSpec, env: Env) -> None:
        Running.__init__(self, spec, env)
        self.stop = 0
        """The last super-step that the recursion limit allows."""
        self.resumed = False
        self.shown = False
        """Whether there is an output: the run began with a state, or something was written."""
        keys = {self.output} if isinstance(self.output, str) else self.output.members
        self._fleeting = not keys.isdisjoint(self.plan.step_scoped)
        """Whether the output has keys that live for one super-step."""
        self._seen: Any = MISSING
        """The output as it was when it was last written, if it is fleeting."""
        self.outcome: Outcome | None = None
        """How the run has ended."""
        self.run_id: str = ""
        self.control: RunControl | None = None
        """Who may ask the run to stop between two super-steps."""
        self.belongings: Belongings | None = None
        """What its tasks share until it ends, once there is anything."""
        self.start: Mark | None = None
        """The stored checkpoint that the run starts from."""
        self.came_from: Origin | None = None
        """Where that lies, if it is in the namespace of another task."""

    # --- the run ---------------------------------------------------------------------------------

    def run(self) -> Generator[Command, Any, None]:
        """The whole run. It has an `outcome` then; raises what ended it.

        It returns None, so that `next(run, None)` tells its end without an exception.
        """
        try:
            if not restore.entered(self):
                yield from restore.begin(self)
            if self.deadline is not None:
                self.spec.inline = "none"  # who runs a task must be able to leave it
            tasks = self.prepare()
            if self.answered:
                self._tell_gone(tasks)
            if self.modes:
                self._report_checkpoint(tasks)
            steps = self._steps(tasks)
            del tasks  # a super-step that is over is not kept until the end
            self.outcome = yield from steps
        except GeneratorExit:  # nobody is left who would do a command
            raise
        except BaseException:
            yield from self._abandon()
            raise

    def _steps(self, tasks: list[Task]) -> Generator[Command, Any, Outcome]:
        """One super-step after the other, from the tasks of the first.

        What a step of one task goes through stands here, in one place: each generator more would be
        a tenth of its cost.
        """
        spec, run = self.spec, Run()
        cached = spec.cache is not None
        halts_before = spec.interrupt_before != _NOWHERE
        halts_after = spec.interrupt_after != _NOWHERE
        timed = spec.step_timeout is not None or self.deadline is not None
        before_due = not self.resumed
        while True:
            if self.step > self.stop:
                raise GraphRecursionError(self._limit_message())
            if not tasks:
                if self.parts or not self._left:
                    yield from self._part()
                return self._outcome()
            todo = tasks if len(tasks) == 1 and not tasks[0].saved else _open(tasks)
            if halts_before and before_due and self._hits(spec.interrupt_before, tasks):
                return (yield from self._stop())
            before_due = True
            if self.control is not None and self.control.drain_reason is not None:
                yield from self._drain(GraphDrained(self.control.drain_reason or "shutdown"))
            if self.modes:
                self._report_begin(tasks)
            self.resumed = False
            if todo and cached:
                todo = yield from self._look_up(todo)
            if todo:
                if timed:
                    yield from self._limit_step()
                alone = self._alone(todo)
                if alone is None:
                    run = Run()  # the last one keeps the last task that ran alone
                    yield from self._execute(todo)
                else:
                    if alone.node.own is not None:
                        events = self._done_here(alone, alone.node.own)
                    else:
                        if self.parts:
                            yield Emit(self._take_parts())  # the consumer may leave here
                        self._inflight[alone] = alone.attempt
                        run.task = alone
                        events = yield run
                        if events is None:
                            events = self._ended(alone, run.writes)
                    if events and not self._is_over(alone, events):
                        yield from self._settle(events)
                    del events
                if self._step_limit or self._failure or self._interrupted or self._drained:
                    outcome = yield from self._cut_short(tasks)
                    if outcome is not None:
                        return outcome
            if self._handlers:
                tasks = self._with_handlers(tasks)
            done = self._apply(tasks)
            stops = halts_after and self._hits(spec.interrupt_after, tasks)
            if cached:
                yield from self._keep(done)
            if self.saving:
                commit = self._commit_of(done, stops=stops)
                yield commit
                self._left = commit.release
                del commit  # nor, here and below, while the next one runs
            elif spec.saved or self.journal or self.ahead:
                self._put_off()
            tasks = self._following(tasks, done)
            del done
            if self.parts:
                yield Emit(self._take_parts())
            if stops:
                return (yield from self._stop())

    def _report_begin(self, tasks: Sequence[Task]) -> None:
        """Tell of a super-step that begins, or goes on."""
        self._report_starts(tasks)
        if self.resumed:
            self._report_kept(tasks)

    def _cut_short(self, tasks: list[Task]) -> Generator[Command, Any, Outcome | None]:
        """A super-step had a time limit, or did not go well; returns the outcome of a run that ends
        with questions. (Whoever gave one an answer that does not fit hears that instead.)"""
        if self._step_limit is not None:
            yield from self._unlimit_step(self._step_limit)
        if self._failure is not None:
            yield from self._fail()
        if self._interrupted and self._asks():
            outcome = yield from self._interrupt(tasks)
            refused = self._refused_call()
            if refused is not None:
                raise refused
            return outcome
        if self._drained is not None:
            yield from self._drain(self._drained)
        return None

    def restore(self, snapshot: Snapshot | None) -> None:
        """Take a stored checkpoint as the place to start from; it becomes as today's graph is."""
        if snapshot is not None:
            moved = adapt(self.plan, snapshot, self.spec.where)
            self.state = self._restored(snapshot)
            if moved is not None:
                self.moved = moved
                self.state.moved(moved.changed, moved.gone)
                restore.rename_ahead(snapshot, self.plan.renames.nodes, self.spec.ns)
            self.frontier = restore.restored_frontier(snapshot)
            self.last = tuple(snapshot.frontier.get("last", ()))
            self.step = snapshot.metadata.get("step", -1) + 1
            self.checkpoint_id = self.stored_id = snapshot.id
            self.newest = max(self.newest, snapshot.newest or snapshot.id)
            self.parent_id = snapshot.parent_id
            self.source = snapshot.metadata.get("source", "loop")
            self.start = Mark.of(
                snapshot.id, snapshot.parent_id, snapshot.metadata, snapshot.frontier
            )
            self.came_from = snapshot.origin
            if "origin" in snapshot.frontier:
                self.origin = Origin(*snapshot.frontier["origin"])
            self.asked = standing_of(snapshot.frontier.get("asked"))
            if self.deadline is None:
                self.deadline = snapshot.frontier.get("deadline")
        self.stop = self.step + self.spec.recursion_limit + 1

    def _restored(self, snapshot: Snapshot) -> State:
        try:
            return State(self.plan, snapshot.values)
        except InvalidUpdateError as error:
            raise MigrationError(
                f"The state of {self.spec.where}, checkpoint {snapshot.id}, is not that of graph "
                f"{self.plan.name!r} any more: {error} Give the graph the next version, and a "
                "migration that brings the value to its new form.",
                checkpoint_id=snapshot.id,
                version=self.plan.version,
            ) from error

    def prepare(self, *, known_only: bool = False) -> list[Task]:
        """The tasks of the next super-step: `Send`s in order, then triggered nodes by name.

        Args:
            known_only: leave out tasks of nodes that do not exist any more.

        Raises:
            UnknownNodeError: there is such a task.
        """
        frontier, state, nodes = self.frontier, self.state, self.plan.nodes
        if not (frontier.pulls or frontier.sends):
            return []
        base = self.checkpoint_id or ""
        step = Step(self.step, self.run_id_of, base, self.spec, state, self.stop)
        tasks = self._pushed(step, known_only=known_only) if frontier.sends else []
        for name in sorted(frontier.pulls) if len(frontier.pulls) > 1 else frontier.pulls:
            node = nodes.get(name)
            if node is None:
                if known_only:
                    continue
                node = self._node(name)
            try:
                given = state.read(node.reads)
            except EmptyChannelError:
                continue
            if node.managed:
                for key, compute in node.managed:
                    given[key] = compute(self.step, self.stop)
            tasks.append(Task(node, (PULL, name), node.triggers, given, step))
        if self.moved is not None:
            self.moved.name(tasks)
        nest = self.spec.nest
        anew = self.asked or (nest is not None and nest.former)
        if self.journal or self.spec.answers or anew:
            answers = dict(self.spec.answers)
            for task in tasks:
                restore.settle_from_journal(task, self.journal, answers)
                if self.asked and task.order in self.asked:
                    restore.stand_for(task, self.asked[task.order], self.answered)
            tasks.extend(self._resumed_handlers(tasks, answers))
        return tasks

    def _pushed(self, step: Step, *, known_only: bool) -> list[Task]:
        """The tasks of the frontier's `Send`s."""
        tasks: list[Task] = []
        nodes, senders = self.plan.nodes, self.frontier.senders
        for place, send in enumerate(self.frontier.sends):
            if known_only and send.node not in nodes:
                continue
            node = nodes.get(send.node) or self._node(send.node)
            task = Task(node, (PUSH, place, False), _BY_SEND, send.arg, step)
            if send.timeout is not None:
                task.timeout = send.timeout
            if place < len(senders):
                task.key = senders[place]
            tasks.append(task)
        return tasks

    def run_id_of(self) -> str:
        """The id of the run (made when asked for)."""
        if not self.run_id:
            self.run_id = self.spec.ns or self.env.new_id()
        return self.run_id

    def _node(self, name: str) -> NodePlan:
        node = self.plan.nodes.get(name)
        if node is None:
            raise UnknownNodeError(
                f"{self.spec.where} is about to run node {name!r} (checkpoint "
                f"{self.checkpoint_id}), which graph {self.plan.name!r} no longer has. "
                f"{nearest(name, self.plan.nodes)} If it was renamed, declare it with "
                f"{renaming(name)}. Else put it back, or move the thread on with "
                "update_state(config, values, as_node=...)."
            )
        return node

    def check_nodes(self) -> None:
        """Nothing is stored for a super-step that cannot run.

        Raises:
            UnknownNodeError: a node that is about to run does not exist any more.
        """
        for name in self.frontier.names():
            self._node(name)

    # --- the end of a super-step, of the run ------------------------------------------------------

    def _apply(self, tasks: list[Task]) -> list[Task]:
        """Apply all writes; returns the tasks whose outcomes are not stored yet."""
        ordered = tasks if len(tasks) == 1 else sorted(tasks, key=_path)
        state = self.state
        if self.spec.saved and not self.saving:
            self._whole = Whole(self, ordered, self._unsaved)
        deferred = self.frontier.deferred
        self.frontier = frontier = state.apply(ordered)
        if deferred:
            frontier.deferred = {**deferred, **frontier.deferred}
        if frontier.sends:
            if self._may_be_early():
                frontier.senders = [
                    send_key(task, n) for task in ordered for n in range(len(sends_of(task)))
                ]
        elif not frontier.pulls:
            state.finish(frontier)
        one = len(ordered) == 1
        self.last = (ordered[0].node.name,) if one else tuple([task.name for task in ordered])
        self.origin = self.asked = None
        done, self._unsaved = self._unsaved, []
        return done

    def _may_be_early(self) -> bool:
        """Whether tasks of the next super-step may have run, by an eager schedule."""
        return self.step + 1 in self.ahead

    def _commit_of(self, done: list[Task], *, stops: bool) -> Commit:
        """What stores the end of a super-step."""
        outcomes = [self._outcome_of(task) for task in done]
        checkpoint = self.new_checkpoint("loop")
        if self.journal or self.ahead:
            outcomes.extend(self._keep_ahead())
        commit = Commit(checkpoint, outcomes)
        commit.release = stops or not (self.frontier.pulls or self.frontier.sends)
        return commit

    def _put_off(self) -> None:
        """The end of a super-step that is not stored, or not now."""
        if self.spec.saved:
            self.deferred_writes = []
            self.unsaved_checkpoint("loop")
        if self.journal or self.ahead:
            self.deferred_writes.extend(self._keep_ahead())

    def _following(self, tasks: list[Task], done: list[Task]) -> list[Task]:
        """Report a super-step that has ended; returns the tasks of the next one."""
        self.step += 1
        self._whole = None
        if (self._fleeting or not self.shown) and report.touches(tasks, self.output):
            self.show_output()
        following = self.prepare()
        if self.modes:
            self._report_done(done)
            if "values" in self.modes and report.touches(tasks, self.output):
                self.emit_values()
            self._report_checkpoint(following)
        return following

    def _hits(self, breakpoints: frozenset[str] | None, tasks: Sequence[Task]) -> bool:
        """Whether any task's node is a breakpoint (None: every visible node is)."""
        if breakpoints is None:
            return any(not task.node.hidden for task in tasks)
        return any(task.name in breakpoints for task in tasks)

    def _part(self) -> Flow:
        """Give the thread back, and tell what is left to tell."""
        yield from self._leave()
        if self.parts:
            yield Emit(self._take_parts())

    def _stop(self) -> Generator[Command, Any, Outcome]:
        """Stop at a static breakpoint."""
        self._report_breakpoint()
        yield from self._part()
        outcome = self._outcome()
        outcome.stopped = True
        return outcome

    def _interrupt(self, tasks: list[Task]) -> Generator[Command, Any, Outcome]:
        """Tasks wait for answers: keep what the others did, store the questions, surface them."""
        waiting = sorted(self._interrupted, key=task_order)
        if self.answered:  # what they called has ended, too, and has taken its answers
            for task in waiting:
                self._tell_unused(task, [question.id for question in self._interrupted[task]])
        outcomes = self._asking_still() if self.spec.saved else ()
        for task in waiting:
            task.prior = asking(task, self._interrupted[task])
        yield from self._acknowledge(release=True, extra=outcomes)
        asked = self._report_asked(waiting)
        if not asked:
            self._report_breakpoint()
        if self._handlers:
            tasks = self._with_handlers(tasks)
        kept = [task for task in tasks if task.saved]
        self._report_stopped(kept)
        if self.parts:
            yield Emit(self._take_parts())
        outcome = self._outcome(kept)
        if asked and outcome.value is None and not isinstance(self.output, str):
            outcome.value = self.state.read_or_none(self.output)  # who is asked is shown the state
        outcome.interrupts = tuple(asked.values())
        outcome.stopped = outcome.inside = not asked
        return outcome

    def _drain(self, drained: GraphDrained) -> Flow:
        """The run was asked to stop: before its next super-step, or inside a task of this one."""
        if self.parts:
            yield Emit(self._take_parts())
        raise drained

    def _fail(self) -> Flow:
        """Tasks failed for good: keep what the others did, store the errors, raise the first."""
        assert self._failure is not None
        task, error = self._failure
        note(error, f"During task with name {task.name!r} and id {task.id!r}")
        others = sorted(self._failed_too, key=task_order)
        failed = {task: error, **{each: self._failed_too[each] for each in others}}
        questions = frozenset[str]().union(*(reopened(*each) for each in failed.items()))
        if questions:
            mark_open_again(error, questions)  # a run around has their answers, too
        outcomes: list[TaskWrites] = []
        if self.spec.saved and not isinstance(error, GraphBubbleUp):
            ends = (failure_of(*each) for each in failed.items())
            outcomes.extend(end for end in ends if end is not None)
            outcomes.extend(self._asking_still())
        yield from self._acknowledge(release=True, extra=outcomes)
        if not isinstance(error, GraphBubbleUp):  # a task that leads out of its graph has no end
            self._report_asked(self._interrupted)
            for each in failed.items():
                self._report_result(*each, ())
        if self.parts:
            yield Emit(self._take_parts())
        raise error

    def _abandon(self) -> Flow:
        """The run ends by an error or from outside: stop what runs, give the thread back.

        Whoever is stopped once more meanwhile (a second cancellation, an impatient Ctrl-C) waits
        for nothing any more, and still gives the thread back.
        """
        self._waiting.clear()
        self._timers = NO_ITEMS
        try:
            if self._inflight:
                yield from self._stop_tasks()
        finally:
            try:
                if self._whole is not None:
                    self._unsaved, self._whole = self._whole.put_back(self), None
                if self._unsaved and self.spec.saved and not self._left:
                    yield from self._acknowledge()
            finally:
                yield from self._leave()

    def _stop_tasks(self) -> Flow:
        """Stop what runs, and wait for its end: for that of threads too, unless this is late."""
        nest = self.spec.nest
        if nest is not None and nest.is_late():
            yield from self._leave_threads()
        else:
            for stopped in (yield Cancel(list(self._inflight), cut=True)):
                self._inflight.pop(stopped, None)
        yield from self._hang_up()
        while self._inflight:
            for event in (yield WAIT):
                if isinstance(event, TaskCalled):
                    self._called(event, [])
                    yield from self._hang_up()
                elif isinstance(event, (TaskFinished, TaskFailed)):
                    self._stopped_or_done(self._as_expired(event))

    def _stopped_or_done(self, event: TaskFinished | TaskFailed) -> None:
        """A task that was to stop has ended. What it did to its end is kept: it will not be asked
        again for what it has done."""
        task = event.task
        if self._inflight.get(task) != event.attempt:
            return  # a late answer of an attempt that was given up
        del self._inflight[task]
        if isinstance(event, TaskFinished) and task not in self._cut:
            task.writes, task.error = event.writes, None
            self._unsaved.append(task)

    def show_output(self) -> None:
        """From here on there is an output; one that will not stay is remembered as it is now."""
        self.shown = True
        if self._fleeting:
            self._seen = self.state.read_or_none(self.output)

    def _outcome(self, kept: Sequence[Task] = ()) -> Outcome:
        if not kept or not report.touches(kept, self.output):
            if not self.shown:
                return Outcome(None)
            if self._seen is not MISSING:
                return Outcome(self._seen)
            if not kept:
                return Outcome(self.state.read_or_none(self.output))
        return Outcome(self.values_with(kept, self.output))

    def _limit_message(self) -> str:
        graph, thread = f"graph {self.plan.name!r}", self.spec.where
        return (
            f"Recursion limit of {self.spec.recursion_limit} reached without hitting a stop "
            f"condition ({graph if thread == graph else f'{graph}, {thread}'}, next: "
            f"{', '.join(self.frontier.names()) or 'nothing'}). Raise `recursion_limit` in the "
            "config if the graph needs more super-steps, or look for a loop that never ends."
        )


def _open(tasks: Sequence[Task]) -> list[Task]:
    """Those that are to run: no writes of theirs were acknowledged."""
    return [task for task in tasks if not task.saved]
