"""What stays on record of a task that ended without a result: its questions, or its error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from plait.common.failures import shown
from plait.constants import ERROR, INTERRUPT, RESUME
from plait.engine.plan import Writes
from plait.engine.questions import standing
from plait.engine.records import TaskWrites
from plait.engine.starts import marks_of
from plait.engine.tasks import Task
from plait.errors import (
    GraphInterrupt,
    NodeCancelledError,
    ParentCommand,
    open_again,
)
from plait.types import Interrupt


def asking(task: Task, questions: Sequence[Interrupt]) -> Writes:
    """What a task that waits has asked, and the answers that it has."""
    return [(INTERRUPT, list(questions)), *(w for w in task.prior if w[0] == RESUME)]


def bubbling(error: BaseException) -> BaseException:
    """What ends a task: the questions, or the command, that a group of errors is made of.

    A `TaskGroup` in a node raises what its tasks raise as a group.
    """
    group = _group(error)
    if group is None:
        return error
    if group.split(GraphInterrupt)[1] is None:
        asked = [q for leaf in _leaves(group) for q in (leaf.args[0] if leaf.args else ())]
        return GraphInterrupt(tuple(asked))
    if group.split(ParentCommand)[1] is None:
        return next(_leaves(group))
    return group


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        inner = _group(error)
        if inner is None:
            yield error
        else:
            yield from _leaves(inner)


def _group(error: BaseException) -> BaseExceptionGroup[BaseException] | None:
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error)
    return None


def question_of(task: Task, questions: Sequence[Interrupt]) -> TaskWrites:
    """What is stored of a task that waits for answers."""
    return task.outcome([*asking(task, questions), *marks_of(task)])


def reopened(task: Task, error: BaseException) -> frozenset[str]:
    """The questions that are open again as a task fails by this error: their answers did not fit.

    Of several that the task asked at once, the error tells of one.
    """
    refused = open_again(error)
    return refused.union(task.questions.refused) if refused and task.questions else refused


def failure_of(task: Task, error: BaseException) -> TaskWrites | None:
    """What is stored of a task that failed for good, or was stopped; None: nothing."""
    kept = standing(task.prior, reopened(task, error))
    writes = [*kept, *marks_of(task, error)]
    if not (isinstance(error, NodeCancelledError) and error.stopped):
        writes.append((ERROR, shown(error)))
    return task.outcome(writes) if writes else None
