"""Tasks that must not be repeated blindly: their starts go on record before they run.

The start of a guarded task is acknowledged like an outcome, whatever the durability, and its
outcome replaces it. A start that is found without an outcome says that a process died, or was cut
off, while the task ran: nobody knows whether its work was done. Then its code does not run; the
node's policy runs in its place (`pregel.unknown`), as an attempt of the task like any other: it may
ask a person, fail, or end with the result that was found. Only where it says so does the task run
again, after that start is on record too.

An error that the code raises is an outcome: it is known. That it took too long, or was cancelled,
is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from plait.constants import AGAIN, STARTED
from plait.engine.caching import Caching
from plait.engine.commands import SaveWrites
from plait.engine.plan import Writes
from plait.engine.questions import standing
from plait.engine.starts import marks_of
from plait.engine.storing import Flow
from plait.errors import ConfigError

if TYPE_CHECKING:
    from plait.engine.records import TaskWrites
    from plait.engine.tasks import Task

RUN_AGAIN: Writes = [(AGAIN, None)]
"""What a policy "writes" to have the task run again."""


class Guards(Caching):
    """The side of a loop that puts starts on record."""

    __slots__ = ("_lost", "guards")

    _lost: list[TaskWrites]
    """Failures of called tasks, and starts that no longer count, that are not stored yet."""
    guards: bool
    """Whether any task of the run is guarded."""

    def _guard(self, batch: Sequence[Task]) -> Flow:
        """Put the starts of guarded tasks on record, before any of them runs."""
        fresh = [task for task in batch if task.node.guarded and not (task.unknown or task.started)]
        if not fresh or not self.spec.saved:
            return
        if not self.saving:
            raise ConfigError(
                f"Node {fresh[0].name!r} on {self.spec.where} has on_unknown, so its start must be "
                'stored before it runs; with durability="exit" nothing is. Run the graph with '
                'durability "sync" or "async".'
            )
        for task in fresh:
            task.starts += 1
            task.started = True
        yield SaveWrites([self._anchored(_start_of(task)) for task in fresh], urgent=True)

    def _is_to_run_again(self, task: Task, writes: Writes) -> bool:
        """The outcome of a start is settled; whether the task runs again."""
        task.unknown = False
        return bool(writes) and writes[0][0] == AGAIN

    def _forget_start(self, task: Task) -> None:
        """What ran inside the task has stopped in good order: the task goes on another time."""
        if task.started and self.spec.saved:
            task.started = False
            self._lost = self._lost or []
            self._lost.append(task.outcome([*standing(task.prior), *marks_of(task)]))

    def _anchored(self, outcome: TaskWrites) -> TaskWrites:
        """An outcome as it is stored now (an eager run stores some for later super-steps)."""
        return outcome


def _start_of(task: Task) -> TaskWrites:
    return task.outcome([*standing(task.prior), (STARTED, [task.starts, True])])


__all__ = ["RUN_AGAIN", "Guards"]
