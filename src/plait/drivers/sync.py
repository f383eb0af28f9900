"""The driver with threads: runs a loop in the caller's thread, tasks inline or in workers."""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Generator
from contextvars import copy_context
from heapq import heappop, heappush
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from plait.drivers.base import Closed, Part, ScopeFactory, Storage, enter, thread_of_control
from plait.drivers.calls import ThreadCall
from plait.drivers.pool import STALL_SECONDS, workers
from plait.drivers.writer import BackgroundWriter
from plait.engine.commands import (
    Cancel,
    Claim,
    Command,
    Commit,
    Emit,
    Load,
    Release,
    Resolve,
    Run,
    SaveWrites,
    Sleep,
    Start,
    Wait,
)
from plait.engine.events import TaskCalled, TaskFailed, TaskFinished, TimerFired
from plait.engine.loop import Loop
from plait.engine.plan import NodePlan
from plait.engine.spec import Outcome
from plait.engine.tasks import Task
from plait.errors import SupersededError

Handler = Callable[[Any], Any]


class SyncDriver:
    """Runs one loop to its end in the calling thread.

    Args:
        loop: what to run.
        make_scope: makes the scope that a task's code sees.
        storage: the run's session, or None without a saver.
    """

    def __init__(self, loop: Loop, make_scope: ScopeFactory, storage: Storage | None) -> None:
        self.loop = loop
        self.storage = storage
        self.outcome: Outcome | None = None
        self._make_scope = make_scope
        self._events: SimpleQueue[Any] = SimpleQueue()
        self._queued: dict[Task, int] = {}
        self._timers: list[tuple[float, int, Task]] = []
        self._ticket = count()
        self._parts: list[Part] = []
        self._inline = False
        self._here = thread_of_control()
        self._generator = loop.run()
        self._writer = (
            BackgroundWriter(storage.saver)
            if storage is not None and storage.durability == "async"
            else None
        )
        self._handlers: dict[type[Command], Handler] = {
            Run: self._run,
            Start: self._start,
            Wait: self._wait,
            Emit: self._emit,
            Sleep: self._sleep,
            Cancel: self._cancel,
            Resolve: self._resolve,
            Load: self._store,
            Claim: self._store,
            SaveWrites: self._store,
            Commit: self._store,
            Release: self._store,
        }

    # --- driving ---------------------------------------------------------------------------------

    def finish(self) -> Outcome:
        """Run to the end without anybody listening."""
        for _ in self.parts():
            pass
        assert self.outcome is not None
        return self.outcome

    def parts(self) -> Generator[Part, None, None]:
        """Run to the end, yielding the parts of the stream as they come."""
        send, throw, handlers = self._generator.send, self._generator.throw, self._handlers
        advance: Callable[[Any], Command] = send
        answer: Any = None
        try:
            while True:
                command = advance(answer)
                try:
                    answer = handlers[type(command)](command)
                    advance = send
                except BaseException as error:
                    advance, answer = throw, error
                if self._parts:
                    yield from self._hand_out()
        except StopIteration as end:
            self.outcome = end.value
            yield from self._hand_out()
        except GeneratorExit:
            self._unwind(Closed())
            raise
        finally:
            if self._writer is not None:
                self._writer.close()

    def _hand_out(self) -> Generator[Part, None, None]:
        parts, self._parts = self._parts, []
        session = self.storage.session if self.storage is not None else None
        for part in parts:
            if session is None:
                yield part
                continue
            session.parked = True
            yield part
            session.parked = False

    def _unwind(self, error: BaseException) -> None:
        """Let the loop stop what runs and give the thread back."""
        try:
            self._advance(self._generator.throw(error), until=None)
        except (StopIteration, Closed, SupersededError):
            pass  # a later run that took over has nothing to hear from this one

    # --- commands --------------------------------------------------------------------------------

    def _run(self, command: Run) -> list[Any]:
        task = command.task
        outer, self._inline = self._inline, True
        try:
            writes = copy_context().run(enter, task, self._make_scope(task, self._here))
        except Exception as error:
            return [TaskFailed(task, task.attempt, error)]
        except BaseException as error:  # the whole run is to stop: tell the loop what became of it
            self._events.put(TaskFailed(task, task.attempt, error))
            raise
        finally:
            self._inline = outer
        return [TaskFinished(task, task.attempt, writes)]

    def _start(self, command: Start) -> None:
        work = self._work
        for task in command.tasks:
            self._queued[task] = task.attempt
        workers().submit([(work, (task, task.attempt, copy_context())) for task in command.tasks])

    def _work(self, task: Task, attempt: int, context: Any) -> None:
        """Run a task in a worker thread, unless it was cancelled before it began."""
        if self._queued.pop(task, None) is None:
            return
        try:
            writes = context.run(enter, task, self._make_scope(task, (get_ident(), 0)))
        except BaseException as error:
            self._events.put(TaskFailed(task, attempt, error))
        else:
            self._events.put(TaskFinished(task, attempt, writes))

    def _wait(self, command: Wait) -> list[Any]:
        """Block until something happens; then take all that has happened."""
        events = self._events
        first = self._next_event()
        happened = [first]
        while not events.empty():
            happened.append(events.get_nowait())
        return happened

    def _next_event(self) -> Any:
        pool = workers()
        while True:
            timeout = None
            if self._timers:
                due, _, task = self._timers[0]
                timeout = due - monotonic()
                if timeout <= 0:
                    heappop(self._timers)
                    return TimerFired(task)
            backlog = pool.backlog
            if backlog:
                timeout = STALL_SECONDS if timeout is None else min(timeout, STALL_SECONDS)
            try:
                return self._events.get(timeout=timeout)
            except Empty:
                if backlog:
                    pool.nudge()

    def _emit(self, command: Emit) -> None:
        self._parts.extend(command.parts)

    def _sleep(self, command: Sleep) -> None:
        heappush(self._timers, (monotonic() + command.delay, next(self._ticket), command.task))

    def _cancel(self, command: Cancel) -> list[Task]:
        self._timers.clear()
        return [task for task in command.tasks if self._queued.pop(task, None) is not None]

    def _resolve(self, command: Resolve) -> None:
        command.call.settle(command.task)

    def _store(self, command: Command) -> Any:
        storage = self.storage
        if storage is None:
            return None
        plan = storage.plan(command)
        if self._writer is None:
            return storage.saver.run(plan)
        if storage.may_lag(command):
            self._writer.put(plan)
            return None
        self._writer.flush()
        return storage.saver.run(plan)

    # --- from inside tasks -----------------------------------------------------------------------

    def deliver(self, event: Any) -> None:
        """An event from inside a running task (any thread)."""
        if self._hosts():
            self._feed([event])
        else:
            self._events.put(event)

    def _hosts(self) -> bool:
        """Whether the calling code is the inline task: the driver's own thread stands behind it.

        Others (a `@task` of an inline entrypoint, in its worker thread) must not touch the loop.
        """
        return self._inline and get_ident() == self._here[0]

    def call(self, parent: Task, node: NodePlan, given: Any) -> ThreadCall:
        """Start a `@task` called by `parent`; returns its handle at once."""
        handle = ThreadCall(self if self._hosts() else None)
        self.deliver(TaskCalled(parent, node, given, handle))
        return handle

    def pump(self) -> None:
        """Process what happens next, while the caller's inline task waits for a call."""
        self._feed(self._wait(Wait()))

    def _feed(self, events: list[Any]) -> None:
        """Hand events to the loop while an inline task runs; do what it asks until it waits."""
        self._advance(self._generator.send(events), until=Wait)

    def _advance(self, command: Command, until: type[Command] | None) -> None:
        """Do commands until one of type `until` comes (None: until the loop ends)."""
        while type(command) is not until:
            try:
                answer = self._handlers[type(command)](command)
            except BaseException as error:
                command = self._generator.throw(error)
            else:
                command = self._generator.send(answer)
