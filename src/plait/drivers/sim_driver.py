"""The driver of simulations: runs one loop in one thread, over a virtual clock, in a seeded order.

Each run, nested or not, has a `SimDriver` of its own; while a task of one run waits, tasks of the
runs around it may go on. Sync nodes run from beginning to end; async nodes are stepped by hand and
may be left waiting where they await a call of a `@task`. What the runs share is their `World`.

What it cannot show: sync tasks that wait for a call stand on one stack, so the one on top goes on
first (with `max_concurrency` they may block each other: a `SimulationError`); one that took too
long ends where it waits, though a thread would run on; code inside one task never races with
itself.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    Callable,
    Generator,
    Sequence,
)
from contextvars import copy_context
from typing import Any, ClassVar

from plait.checkpoint.base.plans import run_plan
from plait.common.belongings import left_by
from plait.common.closing import STARTED, read_inside
from plait.drivers.base import (
    Closed,
    Part,
    ScopeFactory,
    Storage,
    aenter,
    begin,
    enter,
)
from plait.drivers.calls import PumpedCall
from plait.drivers.sim_world import (
    Job,
    SimulatedCrash,
    SimulationError,
    World,
)
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
from plait.engine.events import TaskCalled, TaskFailed, TaskFinished
from plait.engine.journal import CallMark
from plait.engine.loop import Loop
from plait.engine.plan import NodePlan, Writes
from plait.engine.spec import Outcome
from plait.engine.tasks import Task
from plait.errors import NodeCancelledError
from plait.scope import thread_of_control

BEHIND = 8
"""Plans that may wait to be written with `durability="async"`."""
WAIT = Wait()


class SimDriver:
    """Runs one loop of a simulation to its end.

    Args:
        world: what all runs of the simulated process share.
        loop: what to run.
        make_scope: makes the scope that a task's code sees.
        storage: the run's session, or None without a saver.
    """

    prefers_async = False
    """Which form of a node runs, where it has both."""

    def __init__(
        self,
        world: World,
        loop: Loop,
        make_scope: ScopeFactory,
        storage: Storage | None,
    ) -> None:
        self.loop = loop
        self.storage = storage
        self.outcome: Outcome | None = None
        self._world = world
        self._make_scope = make_scope
        self._cancelled: set[Task] = set()
        self._standing: list[Task] = []
        """Its sync tasks that stand on the stack: while there are any, its loop cannot end."""
        self._expired: set[Task] = set()
        """Those of them that took too long: they end where they wait."""
        self._stepping: list[Task] = []
        """Its async tasks that stand on the stack."""
        self._events: list[Any] = []
        self._parts: list[Part] = []
        self._coming: list[Command] = []
        """Commands that are done with the next one of storage."""
        self._behind: list[tuple[Sequence[Command], Any]] = []
        self._generator = loop.run()

    # --- driving ---------------------------------------------------------------------------------

    def parts(self) -> Generator[Part, None, None]:
        """Run to the end, yielding the parts of the stream between commands."""
        send, throw, handlers = self._generator.send, self._generator.throw, self._HANDLERS
        advance: Callable[[Any], Command] = send
        answer: Any = None
        try:
            while True:
                command = advance(answer)
                try:
                    answer = handlers[type(command)](self, command)
                    advance = send
                except SimulatedCrash:
                    raise
                except BaseException as error:
                    advance, answer = throw, error
                if self._parts:
                    yield from self._hand_out()
        except StopIteration:
            self.outcome = self.loop.outcome
            self._write_behind(len(self._behind))
            yield from self._hand_out()
        except SimulatedCrash as crash:
            self._die(crash)
            raise
        except GeneratorExit:
            self._unwind(Closed())
            raise
        finally:
            self._world.drop(self)
            left = left_by(self.loop)
            if left is not None:
                left.close()

    def _hand_out(self) -> Generator[Part, None, None]:
        parts, self._parts = self._parts, []
        for part in parts:
            if self.storage is None:
                yield part
                continue
            self.storage.session.parked = True
            yield part
            self.storage.session.parked = False

    def _unwind(self, error: BaseException) -> None:
        """Let the loop stop what runs and give the thread back."""
        try:
            self._advance(self._generator.throw(error), until=None)
        except (StopIteration, Closed):
            pass

    def _die(self, crash: SimulatedCrash) -> None:
        """End the loop without doing anything it asks for; its claim is that of a dead owner."""
        if self.storage is not None:
            self.storage.session.parked = True
        try:
            command = self._generator.throw(crash)
            while type(command) is not Wait:
                answer = list(command.tasks) if isinstance(command, Cancel) else None
                command = self._generator.send(answer)
        except (SimulatedCrash, StopIteration):
            return
        self._generator.close()

    def _advance(self, command: Command, until: type[Command] | None) -> None:
        """Do commands until one of type `until` comes (None: until the loop ends)."""
        while type(command) is not until:
            try:
                answer = self._HANDLERS[type(command)](self, command)
            except SimulatedCrash:
                raise
            except BaseException as error:
                command = self._generator.throw(error)
            else:
                command = self._generator.send(answer)

    # --- commands --------------------------------------------------------------------------------

    def _run(self, command: Run) -> list[Any]:
        self._begin(command.task)
        return self._wait(WAIT)

    def _start(self, command: Start) -> None:
        for task in command.tasks:
            self._begin(task)

    def _begin(self, task: Task) -> None:
        self._expired.discard(task)
        self._world.begin(Job(self, task, task.attempt, copy_context()))

    def _wait(self, command: Wait) -> list[Any]:
        """Let things happen, at least until one concerns this run; hand over some of them."""
        world = self._world
        while not self._events:
            world.advance(self)
        while not world.idle and world.flip():
            world.advance(self)
        self._write_behind(world.below(len(self._behind) + 1))
        return self._take(1 + world.below(len(self._events)))

    def _take(self, number: int) -> list[Any]:
        taken, self._events = self._events[:number], self._events[number:]
        return taken

    def _emit(self, command: Emit) -> None:
        self._parts.extend(command.parts)
        if self._world.listen is not None:
            for part in command.parts:
                if part[0] == self.loop.ns:  # what nested runs tell was heard from them
                    self._world.listen(part)

    def _sleep(self, command: Sleep) -> None:
        self._world.sleep(self, command.what, command.delay)

    def _unset(self, command: Unset) -> None:
        self._world.unset(self, lambda what: what is command.what)

    def _expire(self, command: Expire) -> bool:
        stands = command.task in self._standing or command.task in self._stepping
        if stands:  # it ends where it waits; in a thread it would run on, unheard
            self._expired.add(command.task)
        return stands or self._world.expire(self, command.task)

    def _read_cache(self, command: ReadCache) -> Any:
        return self._use_cache(self.loop.spec.cache.read, command)

    def _write_cache(self, command: WriteCache) -> None:
        self._use_cache(self.loop.spec.cache.write, command)

    def _use_cache(self, use: Callable[[Any], Any], command: Any) -> Any:
        return self._world.request(use, command.tasks, [command], self.loop.spec.ns)

    def _cancel(self, command: Cancel) -> list[Task]:
        self._cancelled.update(command.tasks)
        return self._world.cancel(self, command.tasks)

    def _resolve(self, command: Resolve) -> None:
        command.call.settle(command.task)

    def _store(self, command: Command) -> Any:
        if self.storage is None:
            return None
        self._coming.append(command)
        plan = self.storage.plan(command)
        if plan is None:
            return None
        commands, self._coming = self._coming, []
        if self.storage.may_lag(command):
            self._behind.append((commands, plan))
            self._write_behind(max(0, len(self._behind) - BEHIND))
            return None
        self._write_behind(len(self._behind))
        return self._write(commands, plan)

    def _write_behind(self, number: int) -> None:
        for _ in range(number):
            self._write(*self._behind.pop(0))

    def _write(self, commands: Sequence[Command], plan: Any) -> Any:
        assert self.storage is not None
        saver: Any = self.storage.saver
        execute = getattr(saver, "execute", None)
        if execute is None:  # a saver of a third party: its calls are its own
            return self._world.request(saver.run, plan, commands, self.loop.spec.ns)
        world, ns = self._world, self.loop.spec.ns
        return run_plan(plan, lambda each: world.request(execute, each, commands, ns), world.pause)

    _HANDLERS: ClassVar[dict[type[Command], Callable[[Any, Any], Any]]] = {
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
    """What does each command."""

    # --- tasks -----------------------------------------------------------------------------------

    def perform(self, job: Job) -> None:
        """Run a task to its end, or to where it waits."""
        task, world = job.task, self._world
        stepped = task.node.call is None or (self.prefers_async and task.node.acall is not None)
        try:
            if job.coroutine is None:
                if not job.has_thread:
                    job.has_thread = True
                    begin(task, self.post)
                if task.limit is not None and world.flip():  # others go first, its time runs
                    world.begin(job)
                    return
                world.note("began", task.id, task.name)
                scope = self._make_scope(task, thread_of_control())
                if not stepped:
                    self._standing.append(task)
                    try:
                        writes = job.context.run(enter, task, scope)
                    finally:
                        self._standing.pop()
                    self._ended(job, writes)
                    return
                job.coroutine = job.context.run(aenter, task, scope)
            self._step(job, job.coroutine.send, None)
        except Exception as error:
            if str(error) == "no running event loop":
                self._failed(job, _no_loop(job, "asks for one (asyncio.sleep, a client)"))
            else:
                self._failed(job, error)
        except SimulatedCrash:
            raise
        except BaseException as error:  # the whole run is to stop: tell the loop of the task
            self._failed(job, error)
            raise

    def _step(self, job: Job, advance: Callable[[Any], Any], value: Any) -> None:
        self._stepping.append(job.task)
        try:
            waits_for = job.context.run(advance, value)
        except StopIteration as end:
            self._ended(job, end.value)
            return
        finally:
            self._stepping.pop()
        if waits_for is not None and not isinstance(waits_for, PumpedCall):
            assert job.coroutine is not None
            job.coroutine.close()
            raise _no_loop(job, f"awaits {waits_for!r}")
        job.waits_for = waits_for
        self._world.note("waits", job.task.id, job.task.name)
        if job.task in self._expired:
            self._expired.discard(job.task)
            self.interrupt(job)
        else:
            self._world.begin(job)

    def interrupt(self, job: Job) -> None:
        """Cancel a task that waits, as asyncio would."""
        from asyncio import CancelledError

        assert job.coroutine is not None
        try:
            self._step(job, job.coroutine.throw, CancelledError())
        except SimulatedCrash:
            raise
        except BaseException as error:
            self._failed(job, error)

    def _ended(self, job: Job, writes: Writes) -> None:
        self._world.note("ended", job.task.id, job.task.name)
        self.post(TaskFinished(job.task, job.attempt, writes))

    def _failed(self, job: Job, error: BaseException) -> None:
        self._world.note("failed", job.task.id, job.task.name)
        self.post(TaskFailed(job.task, job.attempt, error))

    def post(self, event: Any) -> None:
        """Something happened to this run; it hears of it when it looks."""
        self._events.append(event)

    def catch_up(self) -> None:
        """Hear what happened while a task of this run stands still further down the stack."""
        if self._events and self._standing:
            self._feed(self._take(1 + self._world.below(len(self._events))))

    # --- from inside tasks -----------------------------------------------------------------------

    def deliver(self, event: Any) -> None:
        """An event from inside a running task."""
        with_others = self._events and self._world.flip()
        before = self._take(len(self._events)) if with_others else []
        self._feed([*before, event])

    def is_cancelled(self, task: Task) -> bool:
        """Whether a running task was told to stop."""
        return task in self._cancelled or task in self._expired

    def call(self, parent: Task, node: NodePlan, given: Any, mark: CallMark | None) -> PumpedCall:
        """Start a `@task` called by `parent`; returns its handle at once."""
        handle = PumpedCall(self)
        self.deliver(TaskCalled(parent, node, given, handle, mark))
        return handle

    def pump(self) -> None:
        """Let something happen, while the caller's task waits for a call.

        Raises:
            NodeCancelledError: the task has been stopped meanwhile.
        """
        caller = self._standing[-1]
        if caller not in self._expired:
            self._feed(self._wait(WAIT))
        if caller in self._expired:
            raise NodeCancelledError(caller.name, f"Task {caller.name!r} was stopped.")

    def _feed(self, events: list[Any]) -> None:
        self._advance(self._generator.send(events), until=Wait)


class AsyncSimDriver:
    """A `SimDriver` for `ainvoke` and `astream`. It never suspends its caller.

    Awaiting a nested run runs it to its end, with other tasks in between.
    """

    def __init__(
        self,
        world: World,
        loop: Loop,
        make_scope: ScopeFactory,
        storage: Storage | None,
    ) -> None:
        self._driver = SimDriver(world, loop, make_scope, storage)
        self._driver.prefers_async = True
        self.deliver = self._driver.deliver
        self.call = self._driver.call
        self.is_cancelled = self._driver.is_cancelled

    @property
    def outcome(self) -> Outcome | None:
        """How the run ended."""
        return self._driver.outcome

    @read_inside
    async def parts(self) -> AsyncGenerator[Part, None]:
        """Run to the end, yielding the parts of the stream."""
        yield STARTED
        parts = self._driver.parts()
        try:
            for part in parts:
                yield part
        finally:
            parts.close()


def _no_loop(job: Job, what: str) -> SimulationError:
    """A node's code does what only an event loop could go on with."""
    return SimulationError(
        f"A simulation has no event loop, and node {job.task.name!r} {what}. Async nodes may await "
        "calls of tasks, nested graphs, and asyncio.sleep(0); plait.timers.sleep waits for a time."
    )


__all__ = ["AsyncSimDriver", "SimDriver"]
