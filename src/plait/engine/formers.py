"""Tasks that stand for others: those that begin anew since their thread was written to by hand.

An update by hand makes a new checkpoint, so the tasks that run next have new ids, and so has
everything inside them. Ids derive from places: which task was in some place before follows from the
id of the task around it. An answer to a question of before reaches whoever asks one of the same
label in the same place, and nobody else. That place is

- in a graph inside a task: the nth graph that the task runs, the number of the super-step, and the
  node, or the position of the `Send` if it says the same as the one of before;
- of a `@task` that a task calls: the function, the likeness of its arguments, and the ordinal
  among equal calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from plait.engine import namespaces
from plait.engine.likeness import likeness
from plait.engine.tasks import task_id

if TYPE_CHECKING:
    from plait.engine.questions import Standing
    from plait.engine.tasks import Task
    from plait.types import Send


class Former(NamedTuple):
    """A task in whose place another one runs."""

    ns: str
    """The namespace of the run that it was part of."""
    id: str
    open: Standing
    """The questions that were open when the thread was written to: answers to others, which were
    given before, are forgotten with the code that asked."""

    def inside(self, name: str) -> str:
        """The namespace of what ran inside it; `name` is that of its node."""
        return namespaces.inside(self.ns, name, self.id)

    def called(self, task: Task) -> Former:
        """What it called in the place of `task`."""
        place = task.key or task.order
        return Former(self.ns, task_id(self.id, self.ns, task.identity, place), self.open)


class FormerStep(NamedTuple):
    """The super-step that a graph inside a former task had stopped in."""

    ns: str
    checkpoint_id: str
    """The checkpoint it stood on; "" where that graph keeps none: it always begins anew."""
    number: int
    sends: Sequence[Send]
    """Those of this super-step."""
    open: Standing
    """See `Former`."""

    def at(self, task: Task) -> Former | None:
        """What ran in the place of `task`, if that is in this super-step."""
        number = task.step.number
        if self.checkpoint_id and number != self.number:
            return None
        if task.is_push and not self._was_sent(task):
            return None
        base = self.checkpoint_id or f"{self.ns}:{number}"
        return Former(self.ns, task_id(base, self.ns, task.identity, task.order), self.open)

    def _was_sent(self, task: Task) -> bool:
        """Whether the `Send` at this position said the same."""
        sent = self.sends[task.path[1] : task.path[1] + 1]
        return [likeness((send.arg,), {}) for send in sent] == [likeness((task.input,), {})]


def former_of(task: Task) -> Former | None:
    """The task in whose place this one runs, if it is inside one that stands for another."""
    if task.parent is not None:
        around = task.parent.former
        return None if around is None else around.called(task)
    nest = task.step.spec.nest
    return None if nest is None or nest.former is None else nest.former.at(task)
