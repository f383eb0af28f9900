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

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeAlias, cast

from plait.constants import ERROR, INTERRUPT, NO_WRITES, PULL, PUSH, RESUME
from plait.engine import report, restore
from plait.engine.commands import (
    Cancel,
    Command,
    Commit,
    Emit,
    Release,
    Resolve,
    Run,
    SaveWrites,
    Sleep,
    Start,
    Wait,
)
from plait.engine.events import Chunk, TaskCalled, TaskFailed, TaskFinished, TimerFired
from plait.engine.frontier import Frontier, stored_writes, without
from plait.engine.plan import NodePlan, Writes
from plait.engine.records import NewCheckpoint, Snapshot, TaskWrites
from plait.engine.reporting import Reporting, task_order
from plait.engine.retries import retry_delay
from plait.engine.spec import Env, Outcome, RunSpec
from plait.engine.state import State
from plait.engine.tasks import Step, Task
from plait.errors import (
    EmptyChannelError,
    GraphInterrupt,
    GraphRecursionError,
    InterruptSwallowedError,
    NodeCancelledError,
    ParentCommand,
    UnknownNodeError,
    nearest,
)
from plait.types import Interrupt

Flow: TypeAlias = Generator[Command, Any, None]
WAIT = Wait()


class Loop(Reporting):
    """One run of one graph (nested runs are loops of their own)."""

    def __init__(self, spec: RunSpec, env: Env) -> None:
        self.spec = spec
        self.env = env
        self.plan = spec.plan
        self.modes = spec.modes
        self.output = spec.plan.output if spec.output is None else spec.output
        self.saving = spec.saved and spec.durability != "exit"
        """Whether every super-step is stored as it ends."""
        self.state = State(self.plan)
        self.frontier = Frontier()
        self.last: tuple[str, ...] = ()
        """The nodes of the super-step that made the current checkpoint."""
        self.step = -1
        """The number of the super-step that runs now or next."""
        self.stop = 0
        """The last super-step that the recursion limit allows."""
        self.checkpoint_id: str | None = None
        self.parent_id: str | None = None
        self.stored_id: str | None = None
        """The last checkpoint that is (or is being) stored."""
        self.source = "input"
        self.journal: dict[str, Writes] = {}
        """Stored outcomes of the current super-step's tasks, by task id."""
        self.deferred_writes: list[TaskWrites] = []
        """Outcomes that `exit` durability stores at the end."""
        self.resumed = False
        self.shown = False
        """Whether there is an output: the run began with a state, or something was written."""
        self.run_id: str = ""
        self.parts: list[tuple[tuple[str, ...], str, Any]] = []
        self.ns = tuple(spec.ns.split("|")) if spec.ns else ()
        self._waiting: deque[Task] = deque()
        self._inflight: dict[Task, int] = {}
        self._timers: set[Task] = set()
        self._calls: dict[Task, Any] = {}
        self._cut: set[Task] = set()
        """Tasks that called one which will not run: what they return does not count."""
        self._failure: tuple[Task, BaseException] | None = None
        self._interrupted: dict[Task, tuple[Interrupt, ...]] = {}
        self._unsaved: list[Task] = []
        self._left = not spec.saved
        """Whether the thread was given back (or there is none)."""

    # --- the run ---------------------------------------------------------------------------------

    def run(self) -> Generator[Command, Any, Outcome]:
        """The whole run. Returns its outcome; raises what ended it."""
        try:
            yield from restore.begin(self)
            tasks = self.prepare()
            self._report_checkpoint(tasks)
            before_due = not self.resumed
            while True:
                if self.step > self.stop:
                    raise GraphRecursionError(self._limit_message())
                if not tasks:
                    yield from self._leave()
                    if self.parts:
                        yield Emit(self._take_parts())
                    return self._outcome()
                todo = [task for task in tasks if not task.saved]
                if before_due and self._hits(self.spec.interrupt_before, tasks):
                    return (yield from self._stop())
                before_due = True
                if self.modes:
                    self._report_starts(tasks)
                    if self.resumed:
                        self._report_kept(tasks)
                self.resumed = False
                if todo:
                    yield from self._execute(todo)
                    if self._failure is not None:
                        yield from self._fail()
                    if self._interrupted:
                        return (yield from self._interrupt(tasks))
                tasks, after_hit = yield from self._end_step(tasks)
                if after_hit:
                    return (yield from self._stop())
        except BaseException:
            yield from self._abandon()
            raise

    def restore(self, snapshot: Snapshot | None) -> None:
        """Take a stored checkpoint as the place to start from."""
        if snapshot is not None:
            self.state = State(self.plan, snapshot.values)
            self.frontier = restore.restored_frontier(snapshot)
            self.last = tuple(snapshot.frontier.get("last", ()))
            self.step = snapshot.metadata.get("step", -1) + 1
            self.checkpoint_id = self.stored_id = snapshot.id
            self.parent_id = snapshot.parent_id
            self.source = snapshot.metadata.get("source", "loop")
        self.stop = self.step + self.spec.recursion_limit + 1

    def prepare(self) -> list[Task]:
        """The tasks of the next super-step: `Send`s in order, then triggered nodes by name."""
        frontier, state, nodes = self.frontier, self.state, self.plan.nodes
        step = Step(self.step, self._run_id, self.checkpoint_id or "", self.spec.ns, state)
        tasks: list[Task] = []
        if frontier.sends:
            tasks = [
                Task(self._node(send.node), (PUSH, i, False), (PUSH,), send.arg, step)
                for i, send in enumerate(frontier.sends)
            ]
        for name in sorted(frontier.pulls) if len(frontier.pulls) > 1 else frontier.pulls:
            node = nodes.get(name) or self._node(name)
            try:
                given = state.read(node.reads)
            except EmptyChannelError:
                continue
            if node.managed:
                for key, compute in node.managed:
                    given[key] = compute(self.step, self.stop)
            tasks.append(Task(node, (PULL, name), node.triggers, given, step))
        if self.journal or self.spec.answers:
            answers = dict(self.spec.answers)
            for task in tasks:
                restore.settle_from_journal(task, self.journal, answers)
        return tasks

    def _run_id(self) -> str:
        if not self.run_id:
            self.run_id = self.env.new_id()
        return self.run_id

    def _node(self, name: str) -> NodePlan:
        node = self.plan.nodes.get(name)
        if node is None:
            raise UnknownNodeError(
                f"{self.spec.where} is about to run node {name!r} (checkpoint "
                f"{self.checkpoint_id}), which graph {self.plan.name!r} no longer has. "
                f"{nearest(name, self.plan.nodes)} Put the node back, or move the thread on with "
                "update_state(config, values, as_node=...)."
            )
        return node

    # --- running the tasks of a super-step -------------------------------------------------------

    def _execute(self, todo: list[Task]) -> Flow:
        if len(todo) == 1 and self._inlines(todo[0]):
            task = todo[0]
            if self.parts:
                yield Emit(self._take_parts())  # the consumer may leave here: nothing runs yet
            self._inflight[task] = task.attempt
            events = yield Run(task)
            if len(events) == 1 and type(events[0]) is TaskFinished and task.questions is None:
                task.writes = events[0].writes  # the ordinary case: nothing else to look at
                self._inflight.clear()
                self._unsaved.append(task)
                return
        else:
            self._waiting.extend(todo)
            yield from self._start_more()
            events = yield WAIT
        yield from self._settle(events)

    def _inlines(self, task: Task) -> bool:
        inline = self.spec.inline
        if inline == "sync":
            return task.node.call is not None
        return inline == "async" and task.node.acall is not None

    def _start_more(self) -> Flow:
        """Start waiting tasks as far as `max_concurrency` allows."""
        if self.parts:
            yield Emit(self._take_parts())
        waiting, limit = self._waiting, self.spec.max_concurrency
        if not waiting or self._failure is not None:
            return
        room = len(waiting)
        if limit is not None:  # who has called a task makes room for it, else it might never start
            callers = {task.parent for task in self._calls} & self._inflight.keys()
            room = min(limit - len(self._inflight) + len(callers), room)
        if room <= 0:
            return
        batch = [waiting.popleft() for _ in range(room)]
        for task in batch:
            self._inflight[task] = task.attempt
        yield Start(batch)

    def _settle(self, events: Sequence[Any]) -> Flow:
        """Handle events until no task of the super-step is left running or waiting."""
        while True:
            resolved: list[Task] = []
            for event in events:
                kind = cast("type[Any]", type(event))
                if kind is TaskFinished:
                    self._finished(event, resolved)
                elif kind is Chunk:
                    self.parts.append((event.ns, event.mode, event.payload))
                elif kind is TaskFailed:
                    yield from self._failed(event, resolved)
                elif kind is TaskCalled:
                    self._called(event, resolved)
                elif kind is TimerFired and event.task in self._timers:
                    self._timers.discard(event.task)
                    self._waiting.appendleft(event.task)
            if self._failure is not None and self._waiting:
                self._drop(self._waiting, resolved)
                self._waiting.clear()
            busy = self._inflight or self._waiting or self._timers
            if self._unsaved and (busy or resolved):
                yield from self._acknowledge()
            for task in resolved:
                yield Resolve(self._calls.pop(task), task)
            if not busy:
                return
            yield from self._start_more()
            events = yield WAIT

    def _finished(self, event: TaskFinished, resolved: list[Task]) -> None:
        task = event.task
        if self._inflight.get(task) != event.attempt:
            return  # a late answer of an attempt that was given up
        del self._inflight[task]
        if task in self._cut:
            self._give_up(task, _stopped(task), resolved)
            return
        swallowed = self._swallowed(task)
        if swallowed is not None:
            self._give_up(task, _swallowing(task, swallowed), resolved)
            return
        task.writes = event.writes
        task.error = None
        self._unsaved.append(task)
        if task in self._calls:
            resolved.append(task)

    def _swallowed(self, task: Task) -> Interrupt | None:
        """A question, of a task that returned or of one it called, that nobody has answered."""
        if task.questions is not None and task.questions.open:
            return next(iter(task.questions.open.values()))
        if task.calls:
            for called, questions in self._interrupted.items():
                if called.parent is task and questions:
                    return questions[0]
        return None

    def _failed(self, event: TaskFailed, resolved: list[Task]) -> Flow:
        task, error = event.task, event.error
        if self._inflight.get(task) != event.attempt:
            return
        del self._inflight[task]
        if isinstance(error, GraphInterrupt):
            self._asked(task, error, resolved)
            return
        if isinstance(error, ParentCommand):
            command = error.args[0]
            if command.graph is None and task.node.command is not None:
                self._inflight[task] = task.attempt
                try:
                    writes = task.node.command(task, command)
                except Exception as exc:
                    yield from self._failed(TaskFailed(task, task.attempt, exc), resolved)
                else:
                    self._finished(TaskFinished(task, task.attempt, writes), resolved)
                return
        elif task.node.retry and self._failure is None:
            delay = retry_delay(task.node.retry, error, task.attempt, self.env.jitter)
            if delay is not None:
                task.attempt += 1
                self._timers.add(task)
                yield Sleep(task, delay)
                return
        self._give_up(task, error, resolved)
        if self._failure is not None and self._inflight:
            never_began = yield Cancel(list(self._inflight))
            for stopped in never_began:
                self._inflight.pop(stopped, None)
            self._drop(never_began, resolved)

    def _give_up(self, task: Task, error: BaseException, resolved: list[Task]) -> None:
        """A task has failed for good: a called one tells its caller, others end the run."""
        task.error = error
        if task in self._calls:
            resolved.append(task)
        elif self._failure is None:
            self._failure = (task, error)
            self._drop((*self._waiting, *self._timers), resolved)
            self._waiting.clear()
            self._timers.clear()

    def _drop(self, tasks: Iterable[Task], resolved: list[Task]) -> None:
        """Tasks that will not run to their end: whoever called one must not wait for it."""
        for task in tasks:
            if task in self._calls and task.parent is not None:
                task.error = _stopped(task)
                self._cut.add(task.parent)
                resolved.append(task)

    def _asked(self, task: Task, error: GraphInterrupt, resolved: list[Task]) -> None:
        """A task waits for answers: its own questions and those of runs inside it."""
        asked: dict[str, Interrupt] = dict(task.questions.open) if task.questions else {}
        for question in error.args[0] if error.args else ():
            asked.setdefault(question.id, question)
        self._interrupted[task] = tuple(asked.values())
        task.error = error
        if task in self._calls:
            resolved.append(task)

    def _called(self, event: TaskCalled, resolved: list[Task]) -> None:
        """Code inside a task called a `@task`: reuse its journaled result or start it now."""
        parent = event.parent
        place = (PUSH, parent.calls, parent.path)
        parent.calls += 1
        task = Task(event.node, place, (PUSH,), event.input, parent.step)
        task.parent = parent
        self._calls[task] = event.call
        restore.settle_from_journal(task, self.journal, dict(self.spec.answers))
        if task.saved:
            resolved.append(task)
        else:
            self._report_starts([task])
            self._waiting.append(task)

    # --- acknowledging, ending, leaving ----------------------------------------------------------

    def _acknowledge(self, *, release: bool = False, extra: Sequence[TaskWrites] = ()) -> Flow:
        """Store what tasks wrote, then tell it."""
        done, self._unsaved = self._unsaved, []
        outcomes = [self._outcome_of(task) for task in done] if self.spec.saved else []
        outcomes.extend(extra)
        for task in done:
            task.saved = True
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

    def _outcome_of(self, task: Task) -> TaskWrites:
        writes = task.writes
        if self.plan.untracked:
            writes = stored_writes(writes, self.plan.untracked)
        writes = writes or [(NO_WRITES, None)]
        if task.prior:
            writes = [*task.prior, *writes]
        return task.outcome(writes)

    def _end_step(self, tasks: list[Task]) -> Generator[Command, Any, tuple[list[Task], bool]]:
        """Apply all writes, commit, report; returns the next tasks and whether to stop here."""
        ordered = tasks if len(tasks) == 1 else sorted(tasks, key=task_order)
        spec, state = self.spec, self.state
        deferred = self.frontier.deferred
        self.frontier = frontier = state.apply(ordered)
        if deferred:
            frontier.deferred = {**deferred, **frontier.deferred}
        if not frontier:
            state.finish(frontier)
        self.last = tuple(task.name for task in ordered) if len(ordered) > 1 else (ordered[0].name,)
        done, self._unsaved = self._unsaved, []
        stops = self._hits(spec.interrupt_after, tasks)
        if self.saving:
            outcomes = [self._outcome_of(task) for task in done]
            release = not frontier or stops
            yield Commit(self.new_checkpoint("loop"), outcomes, release=release)
            self._left = release
        elif spec.saved:
            self.deferred_writes = []
            self.unsaved_checkpoint("loop")
        self.journal = {}
        self.step += 1
        if not self.shown:
            self.shown = report.touches(tasks, self.output)
        following = self.prepare()
        if self.modes:
            self._report_done(done)
            if "values" in self.modes and report.touches(tasks, self.output):
                self.emit_values()
            self._report_checkpoint(following)
            if self.parts:
                yield Emit(self._take_parts())
        return following, stops

    def new_checkpoint(self, source: str) -> NewCheckpoint:
        """The current state as a checkpoint to commit; it becomes the current one."""
        parent = self.stored_id
        self.unsaved_checkpoint(source)
        return self._checkpoint(parent)

    def unsaved_checkpoint(self, source: str) -> None:
        """Begin the next checkpoint without storing it (yet)."""
        self.parent_id = self.checkpoint_id
        self.checkpoint_id = self.env.checkpoint_id()
        self.source = source

    def _checkpoint(self, parent: str | None) -> NewCheckpoint:
        assert self.checkpoint_id is not None
        changed, removed = self.state.take_changes()
        if self.plan.untracked and self.plan.entry in changed:
            changed[self.plan.entry] = without(changed[self.plan.entry], self.plan.untracked)
        record = self.frontier.record(self.plan.untracked)
        if self.last:
            record["last"] = self.last
        self.stored_id = self.checkpoint_id
        return NewCheckpoint(
            self.checkpoint_id,
            parent,
            self.env.timestamp(),
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

    def _hits(self, breakpoints: frozenset[str] | None, tasks: Sequence[Task]) -> bool:
        """Whether any task's node is a breakpoint (None: every visible node is)."""
        if breakpoints is None:
            return any(not task.node.hidden for task in tasks)
        return bool(breakpoints) and any(task.name in breakpoints for task in tasks)

    def _stop(self) -> Generator[Command, Any, Outcome]:
        """Stop at a static breakpoint."""
        if "updates" in self.modes:
            self._add("updates", {INTERRUPT: ()})
        yield from self._leave()
        if self.parts:
            yield Emit(self._take_parts())
        outcome = self._outcome()
        outcome.stopped = True
        return outcome

    def _interrupt(self, tasks: list[Task]) -> Generator[Command, Any, Outcome]:
        """Tasks wait for answers: keep what the others did, store the questions, surface them."""
        waiting = sorted(self._interrupted, key=task_order)
        outcomes: list[TaskWrites] = []
        for task in waiting:
            task.prior = [
                (INTERRUPT, list(self._interrupted[task])),
                *((c, v) for c, v in task.prior if c == RESUME),
            ]
            if self.spec.saved:
                outcomes.append(task.outcome(task.prior))
        yield from self._acknowledge(release=True, extra=outcomes)
        asked: dict[str, Interrupt] = {}
        for task in waiting:
            for question in self._interrupted[task]:
                asked.setdefault(question.id, question)
            self._report_result(task, None, self._interrupted[task])
        questions = tuple(asked.values())
        kept = [task for task in tasks if task.saved]
        self._report_questions(questions, kept)
        if self.parts:
            yield Emit(self._take_parts())
        outcome = self._outcome(kept)
        outcome.interrupts = questions
        return outcome

    def _fail(self) -> Flow:
        """A task failed for good: keep what the others did, store the error, raise it."""
        assert self._failure is not None
        task, error = self._failure
        note = f"During task with name {task.name!r} and id {task.id!r}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        outcomes: list[TaskWrites] = []
        if self.spec.saved and not isinstance(error, ParentCommand):
            writes = [*(w for w in task.prior if w[0] != ERROR), (ERROR, repr(error))]
            outcomes.append(task.outcome(writes))
            for waiting, questions in self._interrupted.items():
                asked = [
                    (INTERRUPT, list(questions)),
                    *(w for w in waiting.prior if w[0] == RESUME),
                ]
                outcomes.append(waiting.outcome(asked))
        yield from self._acknowledge(release=True, extra=outcomes)
        self._report_result(task, error, ())
        if self.parts:
            yield Emit(self._take_parts())
        raise error

    def _abandon(self) -> Flow:
        """The run ends by an error or from outside: stop what runs, give the thread back."""
        self._waiting.clear()
        self._timers.clear()
        if self._inflight:
            for stopped in (yield Cancel(list(self._inflight))):
                self._inflight.pop(stopped, None)
            yield from self._hang_up()
            while self._inflight:
                for event in (yield WAIT):
                    if isinstance(event, TaskCalled):
                        self._called(event, [])
                        yield from self._hang_up()
                    elif isinstance(event, (TaskFinished, TaskFailed)):
                        task = event.task
                        self._inflight.pop(task, None)
                        whole = task.parent is None and task not in self._cut
                        if isinstance(event, TaskFinished) and whole:
                            task.writes = event.writes
                            self._unsaved.append(task)
        if self._unsaved and self.saving and not self._left:
            yield from self._acknowledge()
        yield from self._leave()

    def _hang_up(self) -> Flow:
        """Nothing is started any more: whoever waits for a call hears so."""
        dropped: list[Task] = []
        self._drop(self._calls, dropped)
        self._waiting.clear()
        for task in dropped:
            yield Resolve(self._calls.pop(task), task)

    def _outcome(self, kept: Sequence[Task] = ()) -> Outcome:
        if not self.shown and not report.touches(kept, self.output):
            return Outcome(None)
        return Outcome(self.values_with(kept, self.output))

    def _limit_message(self) -> str:
        return (
            f"Recursion limit of {self.spec.recursion_limit} reached without hitting a stop "
            f"condition (graph {self.plan.name!r}, {self.spec.where}, next: "
            f"{', '.join(self.frontier.names()) or 'nothing'}). Raise `recursion_limit` in the "
            "config if the graph needs more super-steps, or look for a loop that never ends."
        )


def _latest(outcomes: Sequence[TaskWrites]) -> list[TaskWrites]:
    """One outcome per task: the last one says all that came before (its answers included)."""
    return list({(each.checkpoint_id, each.task_id): each for each in outcomes}.values())


def _stopped(task: Task) -> NodeCancelledError:
    return NodeCancelledError(
        task.name, f"Task {task.name!r} was stopped: its run has failed or was closed meanwhile."
    )


def _swallowing(task: Task, asked: Interrupt) -> InterruptSwallowedError:
    return InterruptSwallowedError(
        f"Node {task.name!r} called interrupt({asked.value!r}) and then "
        "returned as if it had been answered: its code caught the GraphInterrupt. Let it pass: "
        "`except GraphBubbleUp: raise` before `except Exception`."
    )
