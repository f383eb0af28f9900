"""The questions of a super-step: stored and told as they come up, collected as it ends with them.

Other tasks may run for hours beside one that asks. Whoever is to answer sees the question meanwhile
and a crash does not take it back; the answer is taken once the super-step has ended.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from plait.constants import RESUME
from plait.engine.commands import Emit
from plait.engine.ends import question_of
from plait.engine.guards import Guards
from plait.engine.records import TaskWrites
from plait.engine.reporting import task_order
from plait.engine.spec import NO_ITEMS
from plait.engine.storing import Flow
from plait.engine.tasks import Task
from plait.errors import UnusedAnswerWarning
from plait.types import Interrupt


class Asking(Guards):
    """The side of a loop that asks, and hears of answers that nobody takes."""

    __slots__ = ("_asked_so_far", "_interrupted", "_unasked", "answered")

    _interrupted: dict[Task, tuple[Interrupt, ...]]
    """Tasks that wait for answers, and what they ask."""
    _unasked: list[Task]
    """Those whose questions are all known, and were not told yet."""
    _asked_so_far: set[Task]
    """Those whose questions were stored and told while other tasks ran."""
    answered: frozenset[str]
    """The questions that the caller of the run answers."""

    def _has_asked(self, task: Task) -> None:
        """A task waits for answers; told is that when all that it called has ended.

        What called tasks ask, their caller asks, too. The two go on record together: an answer is
        found by either.
        """
        calls = task.calls
        if task.parent is not None or not self._interrupted[task] or (calls and calls.open):
            return
        called = calls.asked if calls else NO_ITEMS
        if not any(other.calls for other in called):
            self._unasked = self._unasked or []
            self._unasked += [task, *called]

    def _ask_now(self) -> Flow:
        """Store what tasks have asked while others still run, with what others wrote; tell it."""
        asked, self._unasked = self._unasked, NO_ITEMS
        lost, self._lost = self._lost, NO_ITEMS
        saved = asked if self.spec.saved else NO_ITEMS
        questions = [question_of(task, self._interrupted[task]) for task in saved]
        yield from self._acknowledge(extra=[*lost, *questions])
        self._report_asked(asked)
        self._asked_so_far = self._asked_so_far or set()
        self._asked_so_far.update(asked)
        if self.parts:
            yield Emit(self._take_parts())

    def _report_asked(self, waiting: Iterable[Task]) -> dict[str, Interrupt]:
        """Tell what tasks ask, each question once; returns the questions by id.

        A task that asks nothing of its own has no result yet: it stands at a breakpoint inside of
        it, or the task that called it asks the same.
        """
        asked: dict[str, Interrupt] = {}
        for task in sorted(waiting, key=task_order):
            new = [q for q in self._interrupted[task] if q.id not in asked]
            if new and task not in self._asked_so_far:
                self._report_questions(task, new)
            asked.update((question.id, question) for question in new)
        return asked

    def _asking_still(self) -> list[TaskWrites]:
        """What is left to store of the tasks that wait for answers."""
        return [
            question_of(task, self._interrupted[task])
            for task in sorted(self._interrupted, key=task_order)
            if task not in self._asked_so_far
        ]

    def _tell_gone(self, tasks: Sequence[Task]) -> None:
        """Warn of answers that the caller of the run gave to handlers that are gone."""
        written = [write for id in self.gone_handlers(tasks) for write in self.journal.get(id, ())]
        given = {id for channel, value in written if channel == RESUME for id in value}
        if lost := sorted(given & self.answered):
            warnings.warn(
                f"The answer to question {', '.join(lost)} has reached nobody: it was asked by an "
                "error handler that its node does not have any more. Put it back before such "
                "threads go on.",
                UnusedAnswerWarning,
                stacklevel=2,
            )

    def _tell_unused(self, task: Task, asked: Sequence[str]) -> None:
        """Warn of answers that the caller of the run gave to a task, and that it has not taken.

        Args:
            asked: the questions with which it stops; none: it has ended.
        """
        heard = self.spec.heard
        if task.questions is None or task.parent is not None or heard is None:
            return  # what was given to a called task was given to its caller, too
        unused = sorted(self.answered.intersection(task.questions.answers) - heard)
        if unused:
            _warn_of_unused(task, unused, asked)


def _warn_of_unused(task: Task, unused: Sequence[str], asked: Sequence[str]) -> None:
    """The task, and what is inside it, asks nothing that was answered: its code has changed, went
    another way, or began anew since its thread was written to by hand."""
    became = (
        f"now asks another question, {', '.join(asked)}: answer that. The answer is kept, and "
        "taken where the same question comes up in the same place."
        if asked
        else "has ended without asking it again: its code has changed or went another way, or it "
        "has kept what came of an answer to a run that died. If this answer matters still, write "
        "it where it belongs by update_state()."
    )
    warnings.warn(
        f"The answer to question {', '.join(unused)} has reached nobody: it was asked inside task "
        f"{task.name!r}, which began anew and {became}",
        UnusedAnswerWarning,
        stacklevel=2,
    )
