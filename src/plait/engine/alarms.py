"""Times that stored tasks wait for: what is due is answered as a run begins, before its caller is.

The answer is stored like a caller's, so that a later one comes too late, whatever happens next.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from plait.constants import INTERRUPT, RESUME
from plait.engine.questions import Standing, due_of
from plait.engine.records import Snapshot, TaskWrites
from plait.errors import ThreadBusyError
from plait.timers import TimedInterrupt, TimedOut

if TYPE_CHECKING:
    from plait.engine.loop import Loop


def timed_questions(
    writes: Iterable[tuple[str, str, Any]],
) -> dict[str, dict[str, TimedInterrupt]]:
    """Open questions of stored tasks that wait for a time: task id -> question id -> question."""
    timed: dict[str, dict[str, TimedInterrupt]] = {}
    answered: set[str] = set()
    for task_id, channel, value in writes:
        if channel == INTERRUPT:
            for question in value:
                if type(question) is TimedInterrupt:
                    timed.setdefault(task_id, {})[question.id] = question
        elif channel == RESUME:
            answered.update(value)
    if answered:
        for questions in timed.values():
            for id in answered & questions.keys():
                del questions[id]
    return timed


def times(questions: Mapping[str, Mapping[str, TimedInterrupt]]) -> list[float]:
    """The times that `timed_questions` wait for."""
    return [each.due for asked in questions.values() for each in asked.values()]


def standing_timers(
    asked: Mapping[str, Standing], went_on: Container[str], answered: Container[str]
) -> Iterator[tuple[str, str, float, bool]]:
    """The questions that wait for a time, of tasks that had asked when the thread was written to:
    place of the task, question, time, and whether it sleeps.

    Args:
        asked: the questions by the place of the task (see `standing_of`).
        went_on: places of tasks that have asked again since, have ended or failed.
        answered: ids of questions that were answered since.
    """
    for place, questions in asked.items():
        if place not in went_on:
            for id, said in questions.items():
                if id not in answered and (due := due_of(said)) is not None:
                    yield place, id, due, said[2]


def _standing(
    loop: Loop, writes: Iterable[tuple[str, str, Any]]
) -> Iterator[tuple[str, str, float, bool]]:
    """The same of a run, of tasks that it has: with the id that a task has now, for its place."""
    if not loop.asked:
        return
    went_on = {task_id for task_id, channel, _ in writes if channel != RESUME}
    answered = {id for _, channel, value in writes if channel == RESUME for id in value}
    for task in loop.prepare(known_only=True):
        if task.id not in went_on and task.order in loop.asked:
            asked = {task.id: loop.asked[task.order]}
            yield from standing_timers(asked, (), answered)


def check_due(loop: Loop, snapshot: Snapshot | None) -> None:
    """Raise a ThreadBusyError unless a time that the thread waits for has come.

    Args:
        snapshot: what the loop has restored.
    """
    now, writes = loop.env.now(), snapshot.writes if snapshot is not None else ()
    waited_for = [
        *times(timed_questions(writes)),
        *(due for _, _, due, _ in _standing(loop, writes)),
    ]
    if not any(due <= now for due in waited_for):
        raise ThreadBusyError(
            f"No time that {loop.spec.where} waits for has come: another run has gone on with it, "
            "or it was changed or deleted."
        )


def ring(loop: Loop, snapshot: Snapshot) -> list[TaskWrites]:
    """Answer the questions whose time has come; returns what is stored of that.

    A graph inside a task hears of it by the answers that its task is given.
    """
    if loop.spec.within is not None or loop.spec.checkpoint_id is not None:
        return []
    now = loop.env.now()
    rung: dict[str, dict[str, Any]] = {}
    for task_id, questions in timed_questions(snapshot.writes).items():
        for id, each in questions.items():
            if each.due <= now:
                rung.setdefault(task_id, {})[id] = each.late_answer
    for task_id, id, due, sleeps in _standing(loop, snapshot.writes):
        if due <= now:
            rung.setdefault(task_id, {})[id] = None if sleeps else TimedOut(due)
    saved: list[TaskWrites] = []
    for task_id, answers in rung.items():
        due = answers
        for other, channel, value in snapshot.writes:
            if other == task_id and channel == RESUME:
                due = {**value, **due}
        snapshot.writes.append((task_id, RESUME, due))
        saved.append(TaskWrites(snapshot.id, task_id, "", [(RESUME, due)], merge=True))
    return saved


__all__ = ["check_due", "ring", "standing_timers", "timed_questions", "times"]
