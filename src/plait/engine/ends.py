"""What stays on record of a task that ended without a result: its questions, or its error."""

from __future__ import annotations

from collections.abc import Sequence

from plait.common.failures import shown
from plait.constants import ERROR, INTERRUPT, RESUME
from plait.engine.plan import Writes
from plait.engine.questions import standing
from plait.engine.records import TaskWrites
from plait.engine.starts import marks_of
from plait.engine.tasks import Task
from plait.errors import NodeCancelledError, refused_question
from plait.types import Interrupt


def asking(task: Task, questions: Sequence[Interrupt]) -> Writes:
    """What a task that waits has asked, and the answers that it has."""
    return [(INTERRUPT, list(questions)), *(w for w in task.prior if w[0] == RESUME)]


def question_of(task: Task, questions: Sequence[Interrupt]) -> TaskWrites:
    """What is stored of a task that waits for answers."""
    return task.outcome([*asking(task, questions), *marks_of(task)])


def failure_of(task: Task, error: BaseException) -> TaskWrites | None:
    """What is stored of a task that failed for good, or was stopped; None: nothing."""
    kept = standing(task.prior, refused_question(error))
    writes = [*kept, *marks_of(task, error)]
    if not (isinstance(error, NodeCancelledError) and error.stopped):
        writes.append((ERROR, shown(error)))
    return task.outcome(writes) if writes else None
