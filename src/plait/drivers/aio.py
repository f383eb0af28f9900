"""The driver with asyncio: runs a loop in the caller's asyncio task, nodes inline or as tasks."""

from __future__ import annotations

import asyncio
from _thread import get_ident
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any, ClassVar, TypeVar

from plait.common.rounds import task_maker
from plait.drivers.ahead import may_be_lost
from plait.drivers.aio_ahead import AioAhead, Attempt
from plait.drivers.aio_driving import STORES, AioDriving
from plait.drivers.awaiting import InContext, stepped_to_its_end, to_its_end
from plait.drivers.base import (
    Closed,
    ScopeFactory,
    Storage,
    aenter,
    begin,
    cut,
    enter,
    no_scope,
    too_late,
)
from plait.drivers.calls import ThreadCall, result_of
from plait.drivers.pacing import Paced
from plait.drivers.pool import Job, workers
from plait.engine.commands import (
    Cancel,
    Command,
    Emit,
    Expire,
    ReadCache,
    Resolve,
    Run,
    Sleep,
    Start,
    Unset,
    Wait,
    WriteCache,
)
from plait.engine.events import (
    CallCancelled,
    Chunk,
    TaskCalled,
    TaskFailed,
    TaskFinished,
    TimerFired,
)
from plait.engine.journal import CallMark
from plait.engine.loop import Loop
from plait.engine.plan import NodePlan, Writes
from plait.engine.tasks import Task
from plait.errors import NodeCancelledError
from plait.scope import Scope, thread_of_control

T = TypeVar("T")


class AioCall(asyncio.Future[Any]):
    """A `@task` call made in an event loop: await it."""

    context: Context
    """What the call was made in."""
    post: Callable[[CallCancelled], None]
    """Tells the run of a cancellation."""

    _told = False

    def cancel(self, msg: Any | None = None) -> bool:
        """Stop the task: its code gets a CancelledError where it waits (a thread is left alone, and
        what it returns is dropped). False: it has ended."""
        cancelled = super().cancel(msg)
        if cancelled:
            self.post(CallCancelled(self))
        return cancelled

    @property
    def heard(self) -> bool:
        """Whether the code that called has been given the outcome (asyncio keeps count)."""
        return self.done() and not self._log_traceback

    def was_told(self) -> None:
        """Its run has warned of its error: asyncio need not say once more that nobody asked."""
        self._told = True
        if self.done():
            self.exception()

    def settle(self, task: Task) -> None:
        """The call has its outcome (in the loop's thread)."""
        self.post = _to_nobody
        if self.done():
            return
        try:
            result = result_of(task)
        except StopIteration as error:
            self.set_exception(RuntimeError(f"The task raised {error!r}."))
        except BaseException as error:
            self.set_exception(error)
            if self._told or _was_stopped(error):
                self.exception()  # else asyncio says aloud that nobody asked for it
        else:
            self.set_result(result)


def _to_nobody(event: CallCancelled) -> None:
    """What has its outcome needs its run no more, and does not keep it."""


class AioDriver(AioDriving):
    """Runs one loop to its end in the calling asyncio task.

    Args:
        loop: what to run.
        make_scope: makes the scope that a task's code sees.
        storage: the run's session, or None without a saver.
    """

    def __init__(self, loop: Loop, make_scope: ScopeFactory, storage: Storage | None) -> None:
        AioDriving.__init__(self, loop, make_scope, storage)
        self._told = False
        """Whether the event loop was told of what threads have posted."""
        self._live = loop.spec.inline == "none"
        self._wake: asyncio.Future[None] | None = None
        self._handles: dict[Task, asyncio.Task[None]] = {}
        self._queued: dict[tuple[Task, int], None] = {}
        """Attempts that have not begun."""
        self._cancelled: set[Task] = set()
        self._timers: dict[Any, asyncio.TimerHandle] = {}
        self._inline: Task | None = None
        """The task that is run in the asyncio task of the run itself."""
        self._feeder: asyncio.Task[None] | None = None
        self._ahead: AioAhead | None = None
        """Starts tasks, where results are stored meanwhile (made when it is first needed)."""

    def _let_go(self) -> None:
        if self._ahead is not None:
            self._ahead.close()
        for timer in self._timers.values():
            timer.cancel()

    # --- commands --------------------------------------------------------------------------------

    def _run(self, command: Run) -> list[Any] | Coroutine[Any, Any, list[Any]] | None:
        task = command.task
        context = copy_context()
        self._inline = task
        try:
            scope = self._make_scope(task, self._here)
            code, given = context.run(_begun, task, scope)
            if code is not None:
                self._inline = None  # until somebody waits for it
                return self._run_on(task, InContext(code, context, given))
        except BaseException as error:
            self._inline = None
            event: Any = self._failed(task, error)
            return [event] if self._feeder is None else self._fed(event)
        self._inline = None
        if self._feeder is not None:
            return self._fed(TaskFinished(task, task.attempt, given))
        command.writes = given
        return None

    async def _run_on(self, task: Task, code: InContext) -> list[Any]:
        """Run a task on that waits for something."""
        self._inline = task
        try:
            event: Any = TaskFinished(task, task.attempt, await code)
        except BaseException as error:
            event = self._failed(task, error)
        finally:
            self._inline = None
        return await self._fed(event)

    def _failed(self, task: Task, error: BaseException) -> TaskFailed:
        """What happened to a task that raised.

        Raises:
            BaseException: it is the whole run that is to stop; the loop has been told of the task.
        """
        if isinstance(error, asyncio.CancelledError) and not _being_cancelled():
            error = _self_cancelled(task, error)
        event = TaskFailed(task, task.attempt, error)
        if not isinstance(
            error, Exception
        ):  # cancelled with the run, KeyboardInterrupt, SystemExit
            self._events.append(event)
            raise error
        return event

    async def _fed(self, event: Any) -> list[Any]:
        """The end of a task, once the loop has heard what happened before."""
        if self._feeder is not None:
            await self._feeder
            self._feeder = None
        return [event]

    async def _heard(self) -> None:
        feeder, self._feeder = self._feeder, None
        while feeder is not None and not feeder.done():
            with suppress(asyncio.CancelledError):  # once more: the run stops already
                await asyncio.wait({feeder})
        if feeder is not None and not feeder.cancelled():
            feeder.exception()  # the loop has ended: who stops it finds it so

    def _start(self, command: Start) -> None:
        in_threads: list[Any] = []
        in_loop: list[Attempt] = []
        queued, cancelled = self._queued, self._cancelled
        for task in command.tasks:
            attempt = task, task.attempt
            queued[attempt] = None
            cancelled.discard(task)
            context = copy_context() if task.call is None else task.call.context.copy()
            if task.node.acall is None:
                in_threads.append((self._work, (attempt, context)))
            else:
                in_loop.append((attempt, context))
        if self._ahead is None and may_be_lost(self.storage):
            self._ahead = AioAhead(self._events.__len__, self._start_in_loop, self.aio)
        ahead = None if self._inline else self._ahead
        if in_loop:
            (self._start_in_loop if ahead is None else ahead.begin)(in_loop)
        if in_threads:
            (self._start_in_threads if ahead is None else ahead.submit)(in_threads)

    def _start_in_loop(self, attempts: Sequence[Attempt]) -> None:
        """Make an asyncio task of each attempt that was not called off."""
        queued, handles, make = self._queued, self._handles, task_maker(self.aio)
        for attempt, context in attempts:
            if attempt in queued:
                handles[attempt[0]] = make(self._run_beside(attempt), context=context)

    def _start_in_threads(self, jobs: Sequence[Job]) -> None:
        workers().submit(jobs)
        workers().watch()  # nobody waits here who would ask for more threads

    async def _run_beside(self, attempt: tuple[Task, int]) -> None:
        """Run a task's code in the asyncio task made for it."""
        self._queued.pop(attempt, None)
        task, number = attempt
        try:
            begin(task, self._post)
            code = aenter(task, self._make_scope(task, thread_of_control()))
            writes = await (Paced(code, self._room) if self._live else code)
        except GeneratorExit:  # the event loop has ended
            raise
        except asyncio.CancelledError as error:
            stopped = task in self._cancelled
            event: Any = TaskFailed(
                task, number, error if stopped else _self_cancelled(task, error)
            )
        except BaseException as error:
            event = TaskFailed(task, number, error)
        else:
            event = TaskFinished(task, number, writes)
        if self._handles.get(task) is asyncio.current_task():
            del self._handles[task]
        self._post(event)

    def _work(self, attempt: tuple[Task, int], context: Context) -> None:
        """Run a sync task in a worker thread, unless it was cancelled before it began."""
        if self._queued.pop(attempt, False) is not None:
            return
        task, number = attempt
        thread = task.thread = get_ident()
        try:
            begin(task, self._post_from_thread)
            writes = context.run(enter, task, self._make_scope(task, (thread, 0)))
            event: Any = TaskFinished(task, number, writes)
        except BaseException as error:
            event = TaskFailed(task, number, error)
        task.thread = None
        try:
            self._post_from_thread(event)
        except RuntimeError:  # the loop is closed: the run gave this attempt up, and has ended
            pass

    async def _wait(self, command: Wait) -> list[Any]:
        """Suspend until something happens; then take all that has happened."""
        if self._ahead is not None:
            self._ahead.stored()
        while not self._events:
            self._wake = self.aio.create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        taken = self._take_events()
        if self._ahead is not None:
            self._ahead.storing(len(taken))
        return taken

    def _take_events(self) -> list[Any]:
        events = self._events  # threads append to it meanwhile
        taken = [events.popleft() for _ in range(len(events))]
        self._room.taken()
        return taken

    def _post(self, event: Any) -> None:
        self._events.append(event)
        self._rouse()

    def _post_from_thread(self, event: Any) -> None:
        """`_post` outside of the event loop.

        Raises:
            RuntimeError: the event loop is closed.
        """
        self._events.append(event)
        if not self._told:
            self._told = True
            self.aio.call_soon_threadsafe(self._rouse)

    def _rouse(self) -> None:
        """Something has happened: let the loop hear it."""
        self._told = False
        if self._inline:
            if self._feeder is None:
                self._feeder = task_maker(self.aio)(self._feed())
        elif self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def _emit(self, command: Emit) -> None:
        self._parts.extend(command.parts)

    def _sleep(self, command: Sleep) -> None:
        what = command.what

        def fire() -> None:
            del self._timers[what]
            self._post(TimerFired(what))

        self._timers[what] = self.aio.call_later(command.delay, fire)

    def _unset(self, command: Unset) -> None:
        timer = self._timers.pop(command.what, None)
        if timer is not None:
            timer.cancel()

    def _expire(self, command: Expire) -> bool:
        task = command.task
        began = self._queued.pop((task, task.attempt), False) is not None
        handle = self._handles.pop(task, None)
        if handle is None:
            if began:
                workers().write_off(task.thread)
            return False
        self._cancelled.add(task)
        handle.cancel()
        return began

    def _cancel(self, command: Cancel) -> list[Task]:
        never_began: list[Task] = []
        for what in [what for what in self._timers if isinstance(what, Task)]:
            self._timers.pop(what).cancel()
        for task in command.tasks:
            self._cancelled.add(task)
            handle = self._handles.get(task)
            if self._queued.pop((task, task.attempt), False) is None:
                never_began.append(task)
            if handle is not None:
                handle.cancel()
        if command.cut:
            for event in cut(command.tasks, self._runs):
                self._post(event)
        return never_began

    def _runs(self, task: Task) -> bool:
        """Whether a task that began is being run, so that its end will be told."""
        handle = self._handles.get(task)
        if handle is not None:
            return not handle.done()
        return task is self._inline or task.thread is not None

    def _resolve(self, command: Resolve) -> None:
        command.call.settle(command.task)

    async def _read_cache(self, command: ReadCache) -> Any:
        return await self.loop.spec.cache.aread(command.tasks)

    async def _write_cache(self, command: WriteCache) -> None:
        await self.loop.spec.cache.awrite(command.tasks)

    async def _store(self, command: Command) -> Any:
        storage = self.storage
        assert storage is not None
        plan = storage.plan(command)
        if plan is None:
            return None
        if self._writer is not None:
            if storage.may_lag(command):
                await self._writer.put(plan)
                return None
            return await to_its_end(self._writer.run(plan), storage.session.leave)
        work, leave = storage.saver.arun(plan), storage.session.leave
        if storage.saver.stepped:
            return await stepped_to_its_end(work, self.aio, leave)
        return await to_its_end(work, leave)

    # --- from inside tasks -----------------------------------------------------------------------

    def deliver(self, event: Any) -> None:
        """An event from inside a running task (any thread). A chunk of a thread waits for room;
        one of code that has outlived the run reaches nobody.

        Raises:
            Closed: a chunk, but the stream was closed.
        """
        chunk = type(event) is Chunk
        if asyncio._get_running_loop() is self.aio:  # pyright: ignore[reportPrivateUsage]
            if chunk and self._room.closed:
                raise Closed
            if not (chunk and self._room.over):
                self._post(event)
            return
        if chunk:
            self._room.enter()
            if self._room.over:
                return
        self._post_from_thread(event)

    async def room(self) -> None:
        """Suspend until there is room for a chunk."""
        await self._room.wait()

    def complete(self, task: Task, attempt: int, code: Coroutine[Any, Any, T]) -> T:
        """Run async code in which a sync task goes on; the task's thread waits for what it gives.

        Raises:
            asyncio.CancelledError: it was cancelled, with its task or by itself.
        """
        its_end = asyncio.run_coroutine_threadsafe(self._go_on(task, attempt, code), self.aio)
        try:
            return its_end.result()
        except CancelledError as error:
            raise asyncio.CancelledError from error

    async def _go_on(self, task: Task, attempt: int, code: Coroutine[Any, Any, T]) -> T:
        if task in self._cancelled or attempt <= task.given_up:
            code.close()
            raise asyncio.CancelledError
        here = asyncio.current_task()
        assert here is not None
        self._handles[task] = here
        try:
            return await (Paced(code, self._room) if self._live else code)
        finally:
            if self._handles.get(task) is here:
                del self._handles[task]

    def is_cancelled(self, task: Task) -> bool:
        """Whether a running task was told to stop."""
        return task in self._cancelled

    async def _feed(self) -> None:
        """Hand events to the loop while an inline task runs."""
        while self._events:
            await self._advance(self._send(self._take_events()), until=Wait)
        self._feeder = None

    def call(self, parent: Task, node: NodePlan, given: Any, mark: CallMark | None) -> Any:
        """Start a `@task` called by `parent`; returns its handle at once.

        Raises:
            ConfigError: the run has ended.
        """
        if self._make_scope is no_scope:
            raise too_late(node)
        in_loop = asyncio._get_running_loop() is self.aio  # pyright: ignore[reportPrivateUsage]
        if in_loop:
            handle: Any = AioCall(loop=self.aio)
            handle.context = copy_context()
            handle.post = self._post
        else:
            handle = ThreadCall()
        self.deliver(TaskCalled(parent, node, given, handle, mark))
        return handle

    # What does each command; not in the driver, so that an ended one is free at once.
    HANDLERS: ClassVar[dict[type[Command], Callable[[Any, Any], Any]]] = {
        Start: _start,
        Emit: _emit,
        Sleep: _sleep,
        Unset: _unset,
        Expire: _expire,
        Cancel: _cancel,
        Resolve: _resolve,
    }
    AWAITED: ClassVar[dict[type[Command], Callable[[Any, Any], Awaitable[Any]]]] = {
        Wait: _wait,
        ReadCache: _read_cache,
        WriteCache: _write_cache,
        **dict.fromkeys(STORES, _store),
    }


def _begun(task: Task, scope: Scope) -> tuple[Coroutine[Any, Any, Writes] | None, Any]:
    """Run a task's async code to where it first waits.

    Returns:
        The code and what it waits for; or None and what the task wrote: most nodes are that quick.
    """
    code = aenter(task, scope)
    try:
        return code, code.send(None)
    except StopIteration as end:
        return None, end.value


def _being_cancelled() -> bool:
    """Whether somebody asked the current asyncio task to stop."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0


def _was_stopped(error: BaseException) -> bool:
    """Whether a task that ended so was stopped with its run, and did not fail."""
    if isinstance(error, NodeCancelledError):
        return error.stopped
    return isinstance(error, asyncio.CancelledError)


def _self_cancelled(task: Task, error: BaseException) -> NodeCancelledError:
    raised = NodeCancelledError(task.name)
    raised.__cause__ = error
    return raised


__all__ = ["AioCall", "AioDriver"]
