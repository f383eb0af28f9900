"""What is on record of a guarded task's starts (see `guards`): how many, and how the last ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from plait.constants import STARTED
from plait.errors import NodeCancelledError, NodeTimeoutError, RunDeadlineError

if TYPE_CHECKING:
    from plait.engine.plan import Writes
    from plait.engine.tasks import Task


def marks_of(task: Task, error: BaseException | None = None) -> Writes:
    """What stays on record of a task's starts while it waits, or once it has failed."""
    if not task.starts:
        return []
    unknown = task.unknown or (task.started and error is not None and is_unknown(error))
    return [(STARTED, [task.starts, unknown])]


def is_unknown(error: BaseException) -> bool:
    """Whether an error leaves open what the task's code has done."""
    return isinstance(error, (NodeTimeoutError, NodeCancelledError, RunDeadlineError))


def adopt_starts(task: Task, stored: Sequence[tuple[str, Any]]) -> None:
    """Take over what is on record of a task's starts."""
    for channel, value in stored:
        if channel == STARTED:
            task.starts, task.unknown = value


__all__ = ["adopt_starts", "is_unknown", "marks_of"]
