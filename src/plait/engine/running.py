"""The tasks of one super-step while they run: started, settled, retried, cut off.

Finished tasks are acknowledged while others still run. A `@task` that code inside a task calls is a
task of its own beside them: its outcome goes to its caller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, cast

from plait.constants import PUSH
from plait.engine import restore
from plait.engine.commands import Cancel, Emit, Resolve, Run, Sleep, Start, Wait
from plait.engine.events import Chunk, TaskCalled, TaskFailed, TaskFinished, TimerFired
from plait.engine.plan import Writes
from plait.engine.retries import retry_delay
from plait.engine.spec import Env, RunSpec
from plait.engine.storing import Flow, Storing
from plait.engine.tasks import Task
from plait.errors import (
    GraphInterrupt,
    InterruptSwallowedError,
    NodeCancelledError,
    ParentCommand,
)
from plait.types import Interrupt

WAIT = Wait()


class Running(Storing):
    """The side of a loop that runs the tasks of a super-step."""

    def __init__(self, spec: RunSpec, env: Env) -> None:
        super().__init__(spec, env)
        self.journal: dict[str, Writes] = {}
        """Stored outcomes of the current super-step's tasks, by task id."""
        self._waiting: deque[Task] = deque()
        self._inflight: dict[Task, int] = {}
        self._timers: set[Task] = set()
        self._calls: dict[Task, Any] = {}
        self._cut: set[Task] = set()
        """Tasks that called one which will not run: what they return does not count."""
        self._failure: tuple[Task, BaseException] | None = None
        self._interrupted: dict[Task, tuple[Interrupt, ...]] = {}

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

    def _hang_up(self) -> Flow:
        """Nothing is started any more: whoever waits for a call hears so."""
        dropped: list[Task] = []
        self._drop(self._calls, dropped)
        self._waiting.clear()
        for task in dropped:
            yield Resolve(self._calls.pop(task), task)


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
