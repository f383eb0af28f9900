"""What the loop hears from a driver. Events come in lists, so that what happened together is
handled together (one transaction for all tasks that finished meanwhile).

Errors of the storage and cancellation are thrown into the loop where it waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from plait.engine.journal import CallMark
from plait.engine.plan import NodePlan, Writes
from plait.engine.tasks import Task

if TYPE_CHECKING:
    from plait.engine.limits import Limit


@dataclass(slots=True)
class TaskBegan:
    """An attempt that has a limit of time begins: not when it was asked for, but now."""

    limit: Limit


class TaskFinished:
    """A task's code returned; `writes` is what it wrote."""

    __slots__ = ("attempt", "task", "writes")

    def __init__(self, task: Task, attempt: int, writes: Writes) -> None:
        self.task = task
        self.attempt = attempt
        self.writes = writes


class TaskFailed:
    """A task's code raised (an error, an interrupt, a command for a parent, a cancellation)."""

    __slots__ = ("attempt", "error", "task")

    def __init__(self, task: Task, attempt: int, error: BaseException) -> None:
        self.task = task
        self.attempt = attempt
        self.error = error


@dataclass(slots=True)
class TaskCalled:
    """Code inside a running task called a `@task`; it starts now."""

    parent: Task
    node: NodePlan
    input: Any
    call: Any
    """The driver's handle of the call: `Resolve` hands it back."""
    mark: CallMark | None = None
    """What tells the call from others, where a record of it may be needed."""


@dataclass(slots=True)
class CallCancelled:
    """Code that called a `@task` has cancelled the call: nobody waits for its outcome."""

    call: Any


class Chunk(NamedTuple):
    """Something from inside a running task for whoever streams (tokens, custom data).

    It is a part of the stream already: as it is, it goes through all runs around the task.
    """

    ns: tuple[str, ...]
    mode: str
    payload: Any


@dataclass(slots=True)
class TimerFired:
    """The delay of a `Sleep` is over."""

    what: Any


Event: TypeAlias = (
    TaskBegan | TaskFinished | TaskFailed | TaskCalled | CallCancelled | Chunk | TimerFired
)
