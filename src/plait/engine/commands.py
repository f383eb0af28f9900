"""What the loop asks of a driver. A driver does these and decides nothing.

Each command's docstring says what the driver sends back into the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plait.engine.plan import Writes
from plait.engine.records import NewCheckpoint, TaskWrites
from plait.engine.tasks import Task


class Command:
    """Base of all commands."""

    __slots__ = ()


@dataclass(slots=True)
class Load(Command):
    """Read a checkpoint (None: the latest). Sent back: a `Snapshot` or None."""

    checkpoint_id: str | None


class Newest(Command):
    """Ask which checkpoint is the newest one. Sent back: its id, or None."""

    __slots__ = ()


class Claim(Command):
    """Take the thread before any task runs. Sent back: None."""

    __slots__ = ()


class Run(Command):
    """Run one task here and now, in its own context. Sent back: a list of events, or None.

    Events that the task causes meanwhile are sent in while it runs, so that the answer to this
    command is whatever happens next; the task's own end comes as an event like any other. None
    says that nothing happened but that the task returned; what it wrote is in `writes`.
    """

    __slots__ = ("task", "writes")

    task: Task
    """Each super-step's, in turn: a loop asks for one at a time."""
    writes: Writes


@dataclass(slots=True)
class Start(Command):
    """Start tasks beside each other (threads, asyncio tasks). Sent back: None."""

    tasks: Sequence[Task]


class Wait(Command):
    """Nothing to decide until something happens. Sent back: a list of events."""

    __slots__ = ()


@dataclass(slots=True)
class SaveWrites(Command):
    """Acknowledge outcomes of tasks. Sent back: None, once they are as safe as asked for."""

    writes: Sequence[TaskWrites]
    claim: bool = False
    release: bool = False
    urgent: bool = False
    """Whether the run waits until they are stored, whatever its durability."""


@dataclass(slots=True)
class Commit(Command):
    """End a super-step: task writes, checkpoint and head in one transaction. Sent back: None."""

    checkpoint: NewCheckpoint
    writes: Sequence[TaskWrites] = ()
    claim: bool = False
    release: bool = False
    soon: bool = False
    """Whether it may share the transaction of what is stored next: no code of a user runs before,
    and nothing is told."""


class Release(Command):
    """Give the thread back, after what was saved before is safe. Sent back: None."""

    __slots__ = ()


@dataclass(slots=True)
class Emit(Command):
    """Hand parts to whoever streams: (namespace, mode, payload). Sent back: None."""

    parts: list[tuple[tuple[str, ...], str, Any]]


@dataclass(slots=True)
class Sleep(Command):
    """Fire a timer after `delay` seconds. Sent back: None (`TimerFired` comes)."""

    what: Any
    """What is due then: a `Task` to try again, a `Limit` that may be exceeded. It has one timer."""
    delay: float


@dataclass(slots=True)
class Unset(Command):
    """Call a timer off, if it has not fired. Sent back: None."""

    what: Any


@dataclass(slots=True)
class Expire(Command):
    """Stop an attempt that took too long. Sent back: whether its end still comes as an event.

    True: its code is being stopped (asyncio). False: it never began, or it runs in a thread, which
    nobody can stop; the driver forgets it.
    """

    task: Task


@dataclass(slots=True)
class ReadCache(Command):
    """Look for results of these tasks' nodes. Sent back: those found, task to writes."""

    tasks: Sequence[Task]


@dataclass(slots=True)
class WriteCache(Command):
    """Keep what these tasks wrote for others with equal input. Sent back: None."""

    tasks: Sequence[Task]


@dataclass(slots=True)
class Cancel(Command):
    """Stop tasks as far as they can be stopped. Sent back: the tasks that never began.

    Every other task still ends with an event. Nothing is tried again: timers of tasks are called
    off.
    """

    tasks: Sequence[Task]
    cut: bool = False
    """Whether the run was cut at a place that nobody chose, so that the loop may not have heard of
    the end of tasks, nor the driver of their start: those that do not run fail, in any case."""


@dataclass(slots=True)
class Resolve(Command):
    """A called task has its outcome: wake whoever waits for it. Sent back: None."""

    call: Any
    task: Task
