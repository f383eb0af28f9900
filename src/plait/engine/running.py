"""The tasks of one super-step while they run: started, settled, retried, cut off.

Finished tasks are acknowledged while others still run. A `@task` that code inside a task calls is a
task of its own beside them: its outcome goes to its caller.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from plait.common.failures import shown
from plait.constants import ERROR, PUSH
from plait.engine import restore
from plait.engine.asking import Asking
from plait.engine.commands import Cancel, Emit, Resolve, Sleep, Start, Unset, Wait
from plait.engine.ends import bubbling, failure_of
from plait.engine.events import (
    CallCancelled,
    Chunk,
    TaskBegan,
    TaskCalled,
    TaskFailed,
    TaskFinished,
    TimerFired,
)
from plait.engine.journal import CallMark, Calls, Recorded
from plait.engine.plan import Writes
from plait.engine.reporting import task_order
from plait.engine.retries import retry_delay
from plait.engine.spec import NO_ITEMS, NONE_YET, Env, RunSpec
from plait.engine.starts import is_unknown
from plait.engine.storing import Flow, Storing
from plait.engine.tasks import Task
from plait.errors import (
    GraphBubbleUp,
    GraphDrained,
    GraphInterrupt,
    InterruptSwallowedError,
    NodeCancelledError,
    NodeTimeoutError,
    ParentCommand,
    UnheardErrorWarning,
    is_invalid_resume,
)
from plait.types import Interrupt

WAIT = Wait()


class Running(Asking):
    """The side of a loop that runs the tasks of a super-step."""

    __slots__ = (
        "_calls",
        "_drained",
        "_failed_too",
        "_failure",
        "_held",
        "_inflight",
        "_leaving",
        "_timers",
        "_waiting",
        "recorded",
    )

    def __init__(self, spec: RunSpec, env: Env) -> None:
        Storing.__init__(self, spec, env)
        self.guards = spec.plan.guarded
        self._limits = self._expired = self._cut = NONE_YET
        self._step_limit = None
        self._handlers = self._lost = NO_ITEMS
        self._interrupted = NONE_YET
        self._unasked = self._asked_so_far = NO_ITEMS
        self.answered = frozenset()
        self._waiting: deque[Task] = deque()
        self._inflight: dict[Task, int] = {}
        self._timers: set[Task] = NO_ITEMS
        self.recorded: dict[str, dict[str, Recorded]] = NONE_YET
        """Stored calls of `@task`s: the id of the task that made them -> by their own id."""
        self._calls: dict[Task, Any] = NONE_YET
        """Called tasks that have no outcome yet, and the handles of their calls."""
        self._held: dict[Task, Writes] = NONE_YET
        """Tasks that have returned, and wrote this, while tasks that they called still run."""
        self._failure: tuple[Task, BaseException] | None = None
        """The first task that failed for good, and why: the run ends with it."""
        self._failed_too: dict[Task, BaseException] = NONE_YET
        """Those that failed after it, of themselves, and all whose answer did not fit."""
        self._leaving: tuple[Task, BaseException] | None = None
        """The first task, in the order of tasks, that leads out of the graph, or was given an
        answer that does not fit: it ends the run once all others have ended, so that it does not
        matter who is fast, and no other answered task is stopped in its work."""
        self._drained: GraphDrained | None = None
        """A run inside a task stopped because it was asked to."""

    def _alone(self, todo: list[Task]) -> Task | None:
        """The one task that is to run, if it may run inline."""
        task = todo[0]
        if len(todo) > 1 or task.timeout is not None or self.spec.inline not in task.node.inline:
            return None
        return task

    def _done_here(self, task: Task, own: Callable[[Any, RunSpec], Writes]) -> Sequence[Any]:
        """Run the engine's own code of a task; returns what there is to settle."""
        try:
            writes = own(task.input, self.spec)
        except Exception as error:
            self._inflight[task] = task.attempt
            return [TaskFailed(task, task.attempt, error)]
        return self._ended(task, writes)

    def _ended(self, task: Task, writes: Writes) -> Sequence[Any]:
        """Take the end of a task that ran alone, and nothing else happened; returns the event of it
        where there is more to say."""
        if task.questions is not None:
            self._inflight[task] = task.attempt
            return [TaskFinished(task, task.attempt, writes)]
        task.writes = writes
        self._inflight.clear()
        self._unsaved.append(task)
        return ()

    def _is_over(self, task: Task, events: Sequence[Any]) -> bool:
        """Take the end of a task that ran alone, if that is all that happened."""
        first = events[0]  # if it is not of this task, it is of an attempt that was given up
        if len(events) > 1 or type(first) is not TaskFinished or first.task is not task:
            return False
        return not self._ended(task, first.writes)

    def _execute(self, todo: list[Task]) -> Flow:
        """Run tasks beside each other."""
        self._waiting.extend(todo)
        yield from self._start_more()
        yield from self._settle((yield WAIT))

    def _start_more(self) -> Flow:
        """Start waiting tasks as far as `max_concurrency` allows."""
        if self.parts:
            yield Emit(self._take_parts())
        waiting, limit = self._waiting, self.spec.max_concurrency
        if not waiting or self._failure is not None:
            return
        room = len(waiting)
        if limit is not None:  # who has called a task makes room for it, else it might never start
            inflight = self._inflight
            callers = sum(1 for task in inflight if task.calls is not None and task.calls.open)
            room = min(limit - len(inflight) + callers, room)
        if room <= 0:
            return
        batch = [waiting.popleft() for _ in range(room)]
        if self.guards:
            yield from self._guard(batch)
        for task in batch:
            self._inflight[task] = task.attempt
        for task in batch:
            if task.timeout is not None or task.node.timeout is not None:
                self._limit(task)
        yield Start(batch)

    def _settle(self, events: Sequence[Any]) -> Flow:
        """Handle events until no task of the super-step is left running or waiting."""
        while True:
            resolved: list[Task] = []
            for event in events:
                if self._expired and isinstance(event, (TaskFinished, TaskFailed)):
                    event = self._as_expired(event)
                kind = cast("type[Any]", type(event))
                if kind is TaskFinished:
                    self._finished(event, resolved)
                elif kind is Chunk:
                    self.parts.append(event)
                elif kind is TaskFailed:
                    yield from self._failed(event, resolved)
                elif kind is TaskCalled:
                    self._called(event, resolved)
                elif kind is TimerFired:
                    yield from self._timer_fired(event, resolved)
                elif kind is TaskBegan:
                    yield from self._began(event.limit)
                elif kind is CallCancelled:
                    yield from self._call_off(event.call, resolved)
            if self._failure is not None and self._waiting:
                self._drop(self._waiting, resolved)
                self._waiting.clear()
            if self.spec.cache is not None and self._calls:
                yield from self._look_up_calls(resolved)
            if self._limits:
                yield from self._unlimit()
            busy = self._busy()
            if not busy and self._leaving is not None and self._failure is None:
                self._failure = self._leaving
            for task in resolved:  # closing one may settle the task that called it
                self._closed(task, resolved)
            if busy and self._unasked:
                yield from self._ask_now()
            elif self._lost or (self._unsaved and (busy or resolved)):
                lost, self._lost = self._lost, NO_ITEMS
                yield from self._acknowledge(extra=lost)
            for task in resolved:
                yield Resolve(self._calls.pop(task), task)
            if not busy:
                return
            yield from self._start_more()
            events = yield WAIT

    def _busy(self) -> bool:
        """Whether the super-step has to wait for a task."""
        return bool(self._inflight or self._waiting or self._timers)

    def _refused_call(self) -> BaseException | None:
        """The error of a called task that was given an answer which does not fit, while the task
        that called it waits for others: the first, in the order of tasks."""
        failed = [
            called
            for task in self._interrupted
            if task.calls is not None
            for called in task.calls.failed
            if called.error is not None and is_invalid_resume(called.error)
        ]
        return min(failed, key=task_order).error if failed else None

    def _asks(self) -> bool:
        """Whether the super-step ends with questions."""
        return bool(self._interrupted)

    def _timer_fired(self, event: TimerFired, resolved: list[Task]) -> Flow:
        what = event.what
        if not isinstance(what, Task):
            yield from self._due(what, resolved)
        elif what in self._timers:
            self._timers.discard(what)
            self._waiting.appendleft(what)

    def _finished(self, event: TaskFinished, resolved: list[Task]) -> None:
        task = event.task
        if self._inflight.get(task) != event.attempt:
            return  # a late answer of an attempt that was given up
        del self._inflight[task]
        if task.unknown and self._is_to_run_again(task, event.writes):
            self._waiting.appendleft(task)
        elif task.calls is not None and task.calls.open:
            self._held = self._held or {}
            self._held[task] = event.writes
        else:
            self._conclude(task, event.writes, resolved)

    def _conclude(self, task: Task, writes: Writes, resolved: list[Task]) -> None:
        """A task has returned, and every task that it called has settled."""
        if task.calls is not None or task.questions is not None or self._cut:
            if self._is_stopped(task, resolved):
                return
            if task.calls is not None and task.calls.failed:
                _warn_of_unheard(task, task.calls.failed)
            if self.answered:
                self._tell_unused(task, ())
        task.writes = writes
        task.error = None
        self._unsaved.append(task)
        if task in self._calls:
            resolved.append(task)

    def _is_stopped(self, task: Task, resolved: list[Task]) -> bool:
        """Whether what a task returned does not count: it failed, or waits for answers."""
        error = self._cut.get(task)
        asked: tuple[Interrupt, ...] = ()
        if error is None and task.calls is not None:
            error = task.calls.check_end(task, self.spec.where)
            asked = self._unheard(task)
        if error is None:
            swallowed = self._swallowed(task)
            error = None if swallowed is None else _swallowing(task, swallowed)
        if error is not None:
            self._give_up(task, error, resolved)
        elif asked:
            self._asked(task, GraphInterrupt(asked), resolved)
        return error is not None or bool(asked)

    def _closed(self, called: Task, resolved: list[Task]) -> None:
        """A called task has its outcome."""
        parent = called.parent
        assert parent is not None
        calls = parent.calls
        assert calls is not None
        calls.open -= 1
        if parent.limit is not None:
            parent.limit.refresh()
        if called.prior and any(channel == ERROR for channel, _ in called.prior):
            calls.drift()
        if called.error is not None and not isinstance(called.error, GraphBubbleUp):
            calls.failed.append(called)
        if called in self._interrupted:
            calls.asked.append(called)
        if parent in self._interrupted:
            self._has_asked(parent)
        elif not calls.open and parent in self._held:
            self._conclude(parent, self._held.pop(parent), resolved)

    def _swallowed(self, task: Task) -> Interrupt | None:
        """A question, of a task that returned or of one it called, that nobody has answered."""
        if task.questions is not None and (task.questions.open or task.questions.inside):
            return next(iter({**task.questions.open, **task.questions.asked_inside()}.values()))
        if task.calls:
            for called, questions in self._interrupted.items():
                if called.parent is task and questions and called.call.heard:
                    return questions[0]
        return None

    def _unheard(self, task: Task) -> tuple[Interrupt, ...]:
        """The questions of tasks that `task` called and whose outcome it has never asked for."""
        return tuple(
            question
            for called, questions in self._interrupted.items()
            if called.parent is task and not called.call.heard
            for question in questions
        )

    def _failed(self, event: TaskFailed, resolved: list[Task]) -> Flow:
        task, error = event.task, bubbling(event.error)
        if self._inflight.get(task) != event.attempt:
            return
        del self._inflight[task]
        if isinstance(error, GraphInterrupt):
            self._asked(task, error, resolved)
            return
        if isinstance(error, GraphDrained) and task not in self._calls:
            self._drained = error  # others may end their work; this task goes on in another run
            self._forget_start(task)
            return
        if isinstance(error, ParentCommand):
            command = error.args[0]
            if command.graph is None and task.node.command is not None:
                yield from self._commanded(task, task.node.command, command, resolved)
                return
        elif (delay := self._delay_of_retry(task, error)) is not None:
            task.attempt += 1
            if task.calls is not None:
                task.calls.restart()
            self._timers = self._timers or set()
            self._timers.add(task)
            yield Sleep(task, delay)
            return
        if self._is_handled(task, error):
            yield from self._hand_over(task, error)
            return
        self._give_up(task, error, resolved)
        if isinstance(error, NodeTimeoutError):
            yield from self._orphan(task, resolved)
        if self._failure is not None and self._inflight:
            never_began = yield Cancel(list(self._inflight))
            for stopped in never_began:
                self._inflight.pop(stopped, None)
            self._drop(never_began, resolved)

    def _commanded(
        self, task: Task, apply: Callable[..., Writes], command: Any, resolved: list[Task]
    ) -> Flow:
        """A graph inside the task has ended with a command for this one: what that writes is what
        the task writes."""
        self._inflight[task] = task.attempt
        try:
            writes = apply(task, command)
        except Exception as error:
            yield from self._failed(TaskFailed(task, task.attempt, error), resolved)
        else:
            self._finished(TaskFinished(task, task.attempt, writes), resolved)

    def _delay_of_retry(self, task: Task, error: BaseException) -> float | None:
        """Seconds until the next attempt at a task (None: there is none)."""
        if not task.node.retry or self._failure is not None or task in self._cut:
            return None
        if task.started and is_unknown(error):
            return None
        is_own = isinstance(error, NodeCancelledError) and error.node == task.name
        if is_own and task.node.subgraph is None:
            return None  # its code called itself off; of a graph inside, it is an error like others
        return retry_delay(task.node.retry, error, task.attempt, self.env.jitter)

    def _give_up(self, task: Task, error: BaseException, resolved: list[Task]) -> None:
        """A task has failed for good: a called one tells its caller, others end the run."""
        task.error = error
        if task in self._calls:
            resolved.append(task)
            bubbles = isinstance(error, GraphBubbleUp)
            if not bubbles:
                self._report_result(task, error, ())
            if self.spec.saved and task not in self._cut and not bubbles:
                end = failure_of(task, error)
                if end is not None:
                    self._lost = self._lost or []
                    self._lost.append(end)
        elif isinstance(error, ParentCommand) or is_invalid_resume(error):
            if self._leaving is None or task.order < self._leaving[0].order:
                self._leaving = (task, error)
            if not isinstance(error, ParentCommand):  # its question is open again, whoever is first
                self._fails_too(task, error)
        elif self._failure is None or self._failure is self._leaving:
            self._failure = (task, error)
            self._drop((*self._waiting, *self._timers), resolved)
            self._waiting.clear()
            self._timers = NO_ITEMS
        elif _is_own(error) and task not in self._cut:
            self._fails_too(task, error)

    def _fails_too(self, task: Task, error: BaseException) -> None:
        self._failed_too = self._failed_too or {}
        self._failed_too[task] = error

    def _drop(self, tasks: Iterable[Task], resolved: list[Task]) -> None:
        """Tasks that will not run to their end: whoever called one must not wait for it."""
        for task in tasks:
            if task in self._calls and task.parent is not None:
                task.error = _stopped(task)
                self._cut = self._cut or {}
                self._cut.setdefault(task.parent, _stopped(task.parent))
                resolved.append(task)

    def _asked(self, task: Task, error: GraphInterrupt, resolved: list[Task]) -> None:
        """A task waits for answers: its own questions and those of runs inside it."""
        asked = {question.id: question for question in (error.args[0] if error.args else ())}
        if task.questions:  # its own that came up elsewhere, after those that stopped the task
            asked = {**task.questions.asked_inside(), **asked, **task.questions.open}
        self._interrupted = self._interrupted or {}
        self._interrupted[task] = tuple(asked.values())
        self._has_asked(task)
        task.error = error
        if task in self._calls:
            resolved.append(task)

    def _called(self, event: TaskCalled, resolved: list[Task]) -> None:
        """Code inside a task called a `@task`: reuse its journaled result or start it now."""
        parent = event.parent
        calls = parent.calls
        if calls is None:
            recorded = self.recorded.get(parent.id) if self.recorded else None
            calls = parent.calls = Calls(recorded or {})
        place = (PUSH, calls.number, parent.path)
        calls.number += 1
        calls.open += 1
        task = Task(event.node, place, (PUSH,), event.input, parent.step)
        task.parent = parent
        self._calls = self._calls or {}
        self._calls[task] = task.call = event.call
        if parent.limit is not None:
            parent.limit.refresh()
            if parent.given_up == parent.attempt:  # its thread has not noticed yet
                task.error = _stopped(task)
                resolved.append(task)
                return
        if event.mark is not None and self._is_known(task, calls, event.mark):
            resolved.append(task)
            return
        answers = self.spec.answers
        if parent.former is not None:  # answers to what was called then were given to who called
            answers = parent.asked().answers
        if self.journal or answers or parent.former is not None:
            restore.settle_from_journal(task, self.journal, dict(answers))
        above = parent.questions
        if above is not None and (above.to_hand_on or above.handed_on):
            above.hand_on(task.asked())
        self._report_starts([task])  # who goes on calls it once more, though it has ended
        if task.saved:
            resolved.append(task)
        else:
            self.guards = self.guards or event.node.guarded
            self._waiting.append(task)

    def _call_off(self, call: Any, resolved: list[Task]) -> Flow:
        """Stop a task whose call was cancelled. Nothing goes on record: code that is run again
        makes the call again, and cancels it again."""
        task = next((task for task, its in self._calls.items() if its is call), None)
        if task is None or self._failure is not None or task in self._expired:
            return  # it has ended, or is being stopped
        error = _stopped(task, "the code that called it has cancelled the call")
        if task in self._inflight:
            self._cut = self._cut or {}
            self._cut.setdefault(task, error)
            yield from self._expire(task, error, resolved)
            return
        if task in self._waiting:
            self._waiting.remove(task)
        elif task in self._timers:
            self._timers.discard(task)
            yield Unset(task)
        else:
            return
        task.error = error
        resolved.append(task)

    def _is_known(self, task: Task, calls: Calls, mark: CallMark) -> bool:
        """Name a call; whether its outcome is clear without the journal."""
        parent = task.parent
        assert parent is not None
        task.key = calls.key(task.name, mark)
        if self.spec.saved:
            task.record = calls.record(task, mark)
            task.error = calls.check(task, task.record, self.spec.where)
            if task.error is not None:
                self._cut = self._cut or {}
                self._cut[parent] = task.error
                return True
        if not parent.node.retry:
            return False
        earlier = calls.made.get(task.id)
        if earlier is not None and earlier.saved:
            task.writes, task.saved = earlier.writes, True
            return True
        if earlier is not None and earlier in self._calls:  # still running: it has a new caller
            self._calls[task], self._calls[earlier] = self._calls[earlier], self._calls[task]
            earlier.call, task.call = task.call, earlier.call
            task.error = _stopped(task)
            return True
        calls.made[task.id] = task
        return False

    def _hang_up(self) -> Flow:
        """Nothing is started any more: whoever waits for a call hears so."""
        dropped: list[Task] = []
        self._drop(self._calls, dropped)
        self._waiting.clear()
        for task in dropped:
            yield Resolve(self._calls.pop(task), task)


def _is_own(error: BaseException) -> bool:
    """Whether a task failed of itself: it was not stopped, and does not lead out of its graph."""
    if isinstance(error, (GraphBubbleUp, NodeCancelledError)):
        return False
    return isinstance(error, Exception)


def _stopped(
    task: Task, why: str = "its run has failed or was closed meanwhile"
) -> NodeCancelledError:
    return NodeCancelledError(task.name, f"Task {task.name!r} was stopped: {why}.")


def _swallowing(task: Task, asked: Interrupt) -> InterruptSwallowedError:
    return InterruptSwallowedError(
        f"Node {task.name!r} called interrupt({asked.value!r}) and then "
        "returned as if it had been answered: its code caught the GraphInterrupt. Let it pass: "
        "`except GraphBubbleUp: raise` before `except Exception`."
    )


def _warn_of_unheard(task: Task, failed: Sequence[Task]) -> None:
    for called in failed:
        if called.error is not None and not called.call.heard:
            called.call.was_told()
            warnings.warn(
                f"Task {called.name!r} failed with {shown(called.error)}, and {task.name!r}, which "
                "called it, ended without asking for its outcome. Await the call, or take its "
                "result() or exception().",
                UnheardErrorWarning,
                stacklevel=2,
            )
