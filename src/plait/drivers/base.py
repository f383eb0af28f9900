"""What all drivers share: the storage side of a run, and how a task's code is entered."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

from plait.engine.commands import Claim, Command, Commit, Load, Newest, Release, SaveWrites
from plait.engine.events import TaskBegan, TaskCalled, TaskFailed
from plait.engine.journal import CallMark
from plait.engine.loop import Loop
from plait.engine.plan import NodePlan, Writes
from plait.engine.spec import Outcome
from plait.engine.tasks import Task
from plait.errors import ConfigError, InvalidNodeError, NodeCancelledError
from plait.scope import Here, Scope, current_scope

if TYPE_CHECKING:  # the port is all types; savers load when a graph has one
    from plait.checkpoint.base.port import Plan, Session, Snapshot

Part: TypeAlias = tuple[tuple[str, ...], str, Any]
"""(namespace, mode, payload) of one streamed part."""
ScopeFactory: TypeAlias = Callable[[Task, Here], Scope]


class PlanRunner(Protocol):
    """A saver, as drivers see it: it executes plans of a session."""

    @property
    def shared(self) -> bool:
        """Whether plans may take a while: they reach a file or a server."""
        ...

    @property
    def stepped(self) -> bool:
        """Whether `arun` may be advanced in anybody's asyncio task.

        What it awaits is futures, tasks and `sleep`; nothing in it asks for its current task, as
        `asyncio.timeout` does.
        """
        ...

    def run(self, plan: Plan[Any]) -> Any: ...

    async def arun(self, plan: Plan[Any]) -> Any: ...

    def join(self, plans: Sequence[Plan[Any]]) -> Plan[Any]:
        """One plan that does several in order, up to the first error; returns what the last one
        returns."""
        ...


class Storage:
    """One run's session, and the plans its storage commands stand for."""

    __slots__ = (
        "_claims",
        "_guard",
        "_start",
        "around",
        "behind",
        "durability",
        "saver",
        "session",
    )

    def __init__(
        self,
        saver: PlanRunner,
        session: Session,
        durability: str,
        start: Callable[[Session], Plan[Snapshot | None]] | None = None,
        guard: Callable[[], None] | None = None,
        around: Storage | None = None,
    ) -> None:
        self.around = around
        """That of the run around a nested one."""
        self.behind: Any = None
        """What writes behind the run (`writer.Behind`), if it goes on meanwhile."""
        self._guard = guard
        """Raises where nobody hears a nested run any more."""
        self._start = start
        """Finds where a nested run starts."""
        self.saver = saver
        self.session = session
        self.durability = durability
        self._claims = False
        """Whether the next plan does what was put off, too."""

    def plan(self, command: Command) -> Plan[Any] | None:
        """The plan of a storage command; None where it is done with the next one. What it stores is
        encoded here and now."""
        session = self.session
        if self._guard is not None and type(command) is not Release:
            self._guard()
        if isinstance(command, Commit):
            if command.soon and session.put_off(command.checkpoint):
                self._claims = True
                return None
            return session.commit(
                command.checkpoint, command.writes, claim=command.claim, release=command.release
            )
        if isinstance(command, SaveWrites):
            return session.save_writes(command.writes, claim=command.claim, release=command.release)
        if isinstance(command, Load):
            if self._start is not None:
                return self._start(session)
            return session.load(command.checkpoint_id, to_write=True)
        if isinstance(command, Claim):
            return session.claim()
        if isinstance(command, Newest):
            return _newest(session)
        assert isinstance(command, Release)
        return session.release()

    def may_lag(self, command: Command) -> bool:
        """Whether the run goes on while this is written (`durability="async"`).

        A claim never lags: nobody may work on a thread that is not his. Nor does what ends the
        run: its caller learns whether everything is stored. Nor does the start of a task that must
        not be repeated: it is on record before the task runs.
        """
        if self.durability != "async" or not isinstance(command, (Commit, SaveWrites)):
            return False
        if self._claims:  # what was put off claims the thread
            self._claims = False
            return False
        if isinstance(command, SaveWrites) and command.urgent:
            return False
        return not (command.claim or command.release)


def _newest(session: Session) -> Plan[str | None]:
    marks = yield from session.marks(None, 1)
    return marks[0].id if marks else None  # the thread was deleted: the claim will tell


def lags(storage: Storage | None) -> TypeGuard[Storage]:
    """Whether a run goes on while its storage is written: no saver in memory makes it wait."""
    return storage is not None and storage.durability == "async" and storage.saver.shared


def no_scope(task: Task, here: Here) -> Scope:
    """The scope factory of a run that has ended: no task of it begins any more."""
    raise NodeCancelledError(
        task.name, f"Task {task.name!r} does not start: its run has ended meanwhile."
    )


def too_late(node: NodePlan) -> ConfigError:
    """The error of a call that was made when its run had ended."""
    return ConfigError(
        f"Task {node.name!r} was called by code that has outlived its run: nobody is left to run "
        "it. Have the node wait for what it starts before it returns."
    )


def refuse(event: Any) -> None:
    """Tell whoever made a call while its run ended that it came too late."""
    if isinstance(event, TaskCalled) and not event.call.done():
        event.call.set_exception(too_late(event.node))


def begin(task: Task, deliver: Callable[[TaskBegan], None]) -> None:
    """Call it where an attempt's code begins: its time runs from now on."""
    limit = task.limit
    if limit is not None:
        limit.begin()
        deliver(TaskBegan(limit))


def enter(task: Task, scope: Scope) -> Writes:
    """Run a task's code; call it inside the task's own context."""
    current_scope.set(scope)
    call = task.node.call
    if call is None:
        raise InvalidNodeError(
            f'No synchronous function provided to "{task.name}": it is async only. Give the node '
            "a sync function too, or run the graph with the async API (ainvoke, astream)."
        )
    try:
        return call(task, scope) if scope.heard is None else scope.heard.call(call)
    except BaseException as error:
        if _is_cancellation(error):  # sync code is never cancelled: it raised this itself
            raise NodeCancelledError(task.name) from error
        raise


def cut(tasks: Iterable[Task], runs: Callable[[Task], bool]) -> list[TaskFailed]:
    """What a loop that was cut is told of tasks that do not run, after all that has happened.

    A Ctrl-C may come after the loop took up a task and before anything began it, or when events
    were taken and not looked at: nobody would ever tell of the task again.
    """
    return [
        TaskFailed(task, task.attempt, NodeCancelledError(task.name))
        for task in tasks
        if not runs(task)
    ]


def _is_cancellation(error: BaseException) -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def aenter(task: Task, scope: Scope) -> Coroutine[Any, Any, Writes]:
    """`enter` for a task that has async code, which is to run in the context of this call."""
    current_scope.set(scope)
    call = task.node.acall
    assert call is not None
    return call(task, scope) if scope.heard is None else scope.heard.acall(call)


class Driver(Protocol):
    """Who runs one loop, as the code around it and inside its tasks sees it."""

    @property
    def outcome(self) -> Outcome | None: ...

    def deliver(self, event: Any) -> None: ...

    def call(self, parent: Task, node: NodePlan, given: Any, mark: CallMark | None) -> Any: ...

    def is_cancelled(self, task: Task) -> bool: ...


class SyncRunner(Driver, Protocol):
    """A driver for `invoke` and `stream`."""

    def parts(self) -> Generator[Part, None, None]: ...


class AsyncRunner(Driver, Protocol):
    """A driver for `ainvoke` and `astream`."""

    def parts(self) -> AsyncGenerator[Part, None]: ...


class DriverSource(Protocol):
    """Makes the drivers of a context's runs in place of threads and asyncio."""

    def sync(self, loop: Loop, scope: ScopeFactory, storage: Storage | None) -> SyncRunner: ...

    def aio(self, loop: Loop, scope: ScopeFactory, storage: Storage | None) -> AsyncRunner: ...


driver_source: ContextVar[DriverSource | None] = ContextVar("plait_driver_source", default=None)
"""Who drives the runs of this context (None: threads, asyncio); a simulation sets it."""


class Closed(Exception):
    """The consumer of a stream went away; the loop ends as when it is cancelled."""


__all__ = [
    "AsyncRunner",
    "Closed",
    "Driver",
    "DriverSource",
    "Part",
    "PlanRunner",
    "ScopeFactory",
    "Storage",
    "SyncRunner",
    "aenter",
    "begin",
    "cut",
    "driver_source",
    "enter",
    "no_scope",
]
