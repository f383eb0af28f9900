"""The driver with threads: runs a loop in the caller's thread, tasks inline or in workers.

While a task runs inline, the caller's thread is busy with it. Whichever thread then has news of the
run (a call of a `@task`, the end of a called one) hands it to the loop and does what it asks, one
at a time under a lock; so a run goes on whatever its inline code waits for.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Generator
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from threading import Lock, RLock
from time import monotonic
from types import GeneratorType
from typing import TYPE_CHECKING, Any, ClassVar, cast

from plait.common.belongings import left_by
from plait.drivers.ahead import Ahead, may_be_lost
from plait.drivers.backlog import Room
from plait.drivers.base import (
    Closed,
    Part,
    ScopeFactory,
    Storage,
    begin,
    cut,
    enter,
    lags,
    no_scope,
    refuse,
    too_late,
)
from plait.drivers.dropped import inside_storage, quietly, streaming
from plait.drivers.pool import LONGEST_SECONDS, STALL_SECONDS, workers
from plait.drivers.timers import NO_TIMERS, Timers
from plait.drivers.writer import BackgroundWriter
from plait.engine.commands import (
    Cancel,
    Claim,
    Command,
    Commit,
    Emit,
    Expire,
    Load,
    Newest,
    ReadCache,
    Release,
    Resolve,
    Run,
    SaveWrites,
    Sleep,
    Start,
    Unset,
    Wait,
    WriteCache,
)
from plait.engine.events import Chunk, TaskCalled, TaskFailed, TaskFinished, TimerFired
from plait.engine.journal import CallMark
from plait.engine.loop import Loop
from plait.engine.plan import NodePlan
from plait.engine.spec import Outcome
from plait.engine.tasks import Task
from plait.errors import SupersededError
from plait.scope import thread_of_control

if TYPE_CHECKING:
    from plait.drivers.calls import ThreadCall

Handler = Callable[[Any, Any], Any]
_NOBODY: frozenset[Task] = frozenset()
_making = RLock()  # the garbage collector may close another stream meanwhile


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
        self._room: Room | None = None
        """Room for chunks, once there were any."""
        self._queued: dict[Task, int] = {}
        """Attempts that no thread has begun."""
        self._cancelled: frozenset[Task] = _NOBODY
        self._timers = NO_TIMERS
        self._parts: list[Part] = []
        self._inline: Task | None = None
        """The task that the caller's thread is inside of."""
        self._fed = False
        """Whether the loop was handed anything since that began."""
        self._turn = Lock()
        """Held by another thread that drives the loop while a task runs inline."""
        self._baton: list[None] = []
        """Holds something while a task runs inline and nobody drives the loop; who takes it does.
        (To take it is one step, and a fraction of what the lock costs.)"""
        self._dropped = False
        """Whether another thread gives the run up."""
        self._alarm: float | None = None
        """When a worker will come by for the timers."""
        self._here = thread_of_control()
        self._generator = cast("GeneratorType[Command, Any, None]", loop.run())
        self._writer = BackgroundWriter(storage) if lags(storage) else None
        self._ahead = Ahead(self._events.qsize) if may_be_lost(storage) else None
        """Hands tasks to the workers, where results are stored meanwhile."""

    # --- driving ---------------------------------------------------------------------------------

    def finish(self) -> None:
        """Run to the end without anybody listening."""
        try:
            self._advance(next(self._generator, None), until=None)
        except StopIteration:
            pass  # it ends so only after an answer or an error: that costs more than a quick node
        except BaseException as error:
            self._unwind_if_cut(error)
            raise
        finally:
            self._leave()
        self.outcome = self.loop.outcome

    def parts(self) -> Generator[Part, None, None]:
        """Run to the end, yielding the parts of the stream as they come."""
        send, throw, handlers = self._generator.send, self._generator.throw, self._HANDLERS
        advance: Callable[[Any], Command] = send
        answer: Any = None
        streaming.add(self)
        try:
            while True:
                command = advance(answer)
                try:
                    answer = handlers[type(command)](self, command)
                    advance = send
                except BaseException as error:
                    self._chunk_room().close()
                    advance, answer = throw, error
                if self._parts:
                    yield from self._hand_out()
        except StopIteration:
            self.outcome = self.loop.outcome
            yield from self._hand_out()
        except GeneratorExit:
            if inside_storage():  # which may wait for this very thread
                self._dropped = True
                workers().submit([(quietly, (self._drop,))])
            else:
                self._unwind(Closed())
            raise
        except BaseException as error:
            self._unwind_if_cut(error)
            raise
        finally:
            streaming.discard(self)
            if not self._dropped:
                self._leave()

    def _unwind_if_cut(self, error: BaseException) -> None:
        """An error came between two commands (a Ctrl-C, `throw`): the loop has not heard of it."""
        if self._generator.gi_frame is not None:
            self._unwind(error)

    def _drop(self) -> None:
        try:
            self._unwind(Closed())
        finally:
            self._leave()

    def _leave(self) -> None:
        """The run has ended."""
        self._make_scope = no_scope  # the run, which has this driver, is free at once
        if self._room is not None:
            self._room.end()
        while not self._events.empty():
            refuse(self._events.get())
        left = left_by(self.loop)
        try:
            if self._writer is not None:
                self._writer.close()
        finally:
            if left is not None:
                left.close()

    def _hand_out(self) -> Generator[Part, None, None]:
        parts, self._parts = self._parts, []
        if self.storage is None:
            yield from parts
            return
        session = self.storage.session
        for part in parts:
            session.parked = True
            yield part
            session.parked = False

    def _unwind(self, error: BaseException) -> None:
        """Let the loop stop what runs and give the thread back."""
        self._chunk_room().close()
        try:
            self._advance(self._generator.throw(error), until=None)
        except (StopIteration, Closed, SupersededError):
            pass  # a later run that took over has nothing to hear from this one

    # --- commands --------------------------------------------------------------------------------

    def _run(self, command: Run) -> list[Any] | None:
        task = command.task
        self._fed = False
        self._inline = task
        try:
            self._baton.append(None)
            writes = copy_context().run(enter, task, self._make_scope(task, self._here))
        except Exception as error:
            return [TaskFailed(task, task.attempt, error)]
        except BaseException as error:  # the whole run is to stop: tell the loop what became of it
            self._events.put(TaskFailed(task, task.attempt, error))
            raise
        finally:
            self._inline = None
            try:
                self._baton.pop()
            except IndexError:  # another thread drives the loop, and gives it back
                with self._turn:
                    self._baton.pop()
        if self._fed:  # the loop waits for more than the end of this task
            return [TaskFinished(task, task.attempt, writes)]
        command.writes = writes
        return None

    def _start(self, command: Start) -> None:
        jobs: list[Any] = []
        work, here = self._work, copy_context()
        for task in command.tasks:
            self._queued[task] = task.attempt
            context = here if task.call is None else task.call.context
            jobs.append((work, (task, task.attempt, context)))
        pool = workers()
        if self._inline:  # nobody waits for events who could ask for more threads
            pool.submit(jobs)
            pool.watch()
        elif self._ahead is not None:
            self._ahead.submit(jobs)
        else:
            pool.submit(jobs)

    def _work(self, task: Task, attempt: int, context: Context) -> None:
        """Run a task in a worker thread, in a copy of `context`, unless it was cancelled before."""
        if self._queued.get(task) != attempt or self._queued.pop(task, None) is None:
            return
        thread = task.thread = get_ident()
        try:
            begin(task, self.deliver)
            writes = context.copy().run(enter, task, self._make_scope(task, (thread, 0)))
            event: Any = TaskFinished(task, attempt, writes)
        except BaseException as error:
            event = TaskFailed(task, attempt, error)
        task.thread = None
        self.deliver(event)

    def _wait(self, command: Wait) -> list[Any]:
        """Block until something happens; then take all that has happened."""
        ahead = self._ahead
        if ahead is None:
            return self._next_events()
        ahead.stored()
        events = self._next_events()
        ahead.storing(len(events))
        return events

    def _happened(self) -> list[Any]:
        events = self._events
        # Not until it is empty: others go on filling it.
        happened = [events.get_nowait() for _ in range(events.qsize())]
        if self._room is not None:
            self._room.taken()
        return happened

    def _next_events(self) -> list[Any]:
        pool = workers()
        while True:
            timeout = None
            due = self._timers.next_due
            if due is not None:
                timeout = min(due - monotonic(), LONGEST_SECONDS)
                if timeout <= 0:
                    return self._passed()
            backlog = pool.backlog
            if backlog:
                timeout = STALL_SECONDS if timeout is None else min(timeout, STALL_SECONDS)
            try:
                return [self._events.get(timeout=timeout), *self._happened()]
            except Empty:
                if backlog:
                    pool.nudge()

    def _emit(self, command: Emit) -> None:
        self._parts.extend(command.parts)

    def _sleep(self, command: Sleep) -> None:
        if self._timers is NO_TIMERS:
            self._timers = Timers()
        self._timers.set(command.what, monotonic() + command.delay)

    def _unset(self, command: Unset) -> None:
        self._timers.unset(command.what)

    def _expire(self, command: Expire) -> bool:
        if self._queued.pop(command.task, None) is None:
            workers().write_off(command.task.thread)
        return False

    def _cancel(self, command: Cancel) -> list[Task]:
        self._timers.unset_all(Task)
        self._cancelled = self._cancelled.union(command.tasks)
        queued = self._queued
        never_began = [task for task in command.tasks if queued.pop(task, None) is not None]
        if command.cut:
            for event in cut(command.tasks, self._runs):
                self._events.put(event)
        return never_began

    def _runs(self, task: Task) -> bool:
        """Whether somebody is inside of a task that began, and will tell of its end."""
        return task is self._inline or task.thread is not None

    def _resolve(self, command: Resolve) -> None:
        command.call.settle(command.task)

    def _read_cache(self, command: ReadCache) -> Any:
        return self.loop.spec.cache.read(command.tasks)

    def _write_cache(self, command: WriteCache) -> None:
        self.loop.spec.cache.write(command.tasks)

    def _store(self, command: Command) -> Any:
        storage = self.storage
        if storage is None:
            return None
        plan = storage.plan(command)
        if plan is None:
            return None
        if self._writer is None:
            return storage.saver.run(plan)
        if storage.may_lag(command):
            self._writer.put(plan)
            return None
        return self._writer.run(plan)

    # --- from inside tasks -----------------------------------------------------------------------

    def deliver(self, event: Any) -> None:
        """An event from inside a running task (any thread). A chunk waits for room; one of code
        that has outlived the run reaches nobody.

        Raises:
            Closed: a chunk, but the stream was closed.
        """
        if type(event) is Chunk and not self._inline:
            (self._room or self._chunk_room()).enter()
            if self._make_scope is no_scope:
                return
        self._events.put(event)
        if self._inline:
            self._drive()

    def _chunk_room(self) -> Room:
        """Room for chunks (any thread)."""
        with _making:
            room = self._room = self._room or Room(self._events.qsize)
        return room

    def _drive(self) -> None:
        """Hand the loop what has happened, while the caller's thread is inside a task."""
        turn = self._turn
        while self._inline and not self._events.empty() and turn.acquire(blocking=False):
            try:
                if not self._feed(self._happened):
                    return
            finally:
                turn.release()

    def _feed(self, look: Callable[[], list[Any]]) -> bool:
        """Hand the loop what `look` finds; call it in turn. False: the task has ended meanwhile, so
        that the caller's thread looks itself."""
        try:
            self._baton.pop()
        except IndexError:
            return False
        try:
            events = look()
            if events:
                self._fed = True
                self._advance(self._generator.send(events), until=Wait)
            self._set_alarm()
        finally:
            self._baton.append(None)
        return True

    def _set_alarm(self) -> None:
        due = self._timers.next_due
        if due is not None and (self._alarm is None or due < self._alarm):
            self._alarm = due  # a worker comes by then: nobody waits for it here
            workers().call_at(due, (self._ring, ()))

    def _ring(self) -> None:
        with self._turn:
            self._alarm = None
            self._feed(self._passed)
        self._drive()

    def _passed(self) -> list[Any]:
        """What has happened, then what is due: a task that has ended in time is not late."""
        passed, timers = self._happened(), self._timers
        while (due := timers.next_due) is not None and due <= monotonic():
            passed.append(TimerFired(timers.pop()))
        return passed

    def is_cancelled(self, task: Task) -> bool:
        """Whether a running task was told to stop."""
        return task in self._cancelled

    def call(self, parent: Task, node: NodePlan, given: Any, mark: CallMark | None) -> ThreadCall:
        """Start a `@task` called by `parent`; returns its handle at once.

        Raises:
            ConfigError: the run has ended.
        """
        from plait.drivers.calls import ThreadCall  # heavy: most runs call no task

        if self._make_scope is no_scope:
            raise too_late(node)
        handle = ThreadCall()
        self.deliver(TaskCalled(parent, node, given, handle, mark))
        return handle

    def _advance(self, command: Command | None, until: type[Command] | None) -> None:
        """Do commands until one of type `until` comes (None: until the loop ends)."""
        generator, handlers = self._generator, self._HANDLERS
        while command is not None and type(command) is not until:
            try:
                answer = handlers[type(command)](self, command)
            except BaseException as error:
                self._chunk_room().close()
                command = generator.throw(error)
            else:
                command = next(generator, None) if answer is None else generator.send(answer)

    _HANDLERS: ClassVar[dict[type[Command], Handler]] = {
        Run: _run,
        Start: _start,
        Wait: _wait,
        Emit: _emit,
        Sleep: _sleep,
        Unset: _unset,
        Expire: _expire,
        ReadCache: _read_cache,
        WriteCache: _write_cache,
        Cancel: _cancel,
        Resolve: _resolve,
        Load: _store,
        Newest: _store,
        Claim: _store,
        SaveWrites: _store,
        Commit: _store,
        Release: _store,
    }
    """What does each command; not in the driver, so that an ended one is free at once."""
