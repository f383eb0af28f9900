"""Error handlers: when a node has failed for good, its handler runs in its place.

The failure is stored before the handler starts, so that a handler that crashed, or asked something,
is resumed itself and its node is not run again. What the handler writes applies where the node's
writes would have; the node's edges are not followed, the handler's Command says where to go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.common.failures import shown
from plait.constants import DEFAULT_HANDLER, ERROR, FAILED, HANDLER, PUSH, RESUME
from plait.engine import restore
from plait.engine.limits import Limits
from plait.engine.spec import NO_ITEMS
from plait.engine.storing import Flow
from plait.engine.tasks import Task, task_id
from plait.errors import NodeError, bubbles_up


class Handlers(Limits):
    """The side of a loop that runs error handlers."""

    __slots__ = ("_handlers",)

    _handlers: list[Task]
    """Handlers of the current super-step."""

    def _is_handled(self, task: Task, error: BaseException) -> bool:
        return (
            task.node.handler is not None
            and self._failure is None
            and task not in self._cut
            and isinstance(error, Exception)
            and not bubbles_up(error)
        )

    def _hand_over(self, task: Task, error: BaseException) -> Flow:
        """A task failed for good: store that it did, then let its handler run."""
        answers = [(c, v) for c, v in task.prior if c == RESUME]
        failure = task.outcome([*answers, (ERROR, shown(error)), (FAILED, error)])
        yield from self._acknowledge(extra=[failure] if self.spec.saved else ())
        self._report_result(task, error, ())
        task.saved = task.handled = True
        self._waiting.append(self._handler_of(task, error))

    def _handler_of(self, task: Task, error: BaseException) -> Task:
        plan = task.node.handler
        assert plan is not None
        handler = Task(plan, task.path, (PUSH,), task.input, task.step)
        handler.failed = NodeError(task.name, error)
        if task.born is not None and plan.name == HANDLER + task.name:
            handler.born = HANDLER + task.born
        self._handlers = self._handlers or []
        self._handlers.append(handler)
        return handler

    def _resumed_handlers(self, tasks: Sequence[Task], answers: dict[str, Any]) -> list[Task]:
        """The handlers of tasks that had failed when the run stopped."""
        resumed: list[Task] = []
        for task in tasks:
            if task.handled:
                assert task.error is not None
                handler = self._handler_of(task, task.error)
                restore.settle_from_journal(handler, self.journal, answers)
                resumed.append(handler)
        return resumed

    def gone_handlers(self, tasks: Sequence[Task]) -> set[str]:
        """The ids of the handlers that nodes of `tasks` had when they failed, and have no more."""
        kept = {task.id for task in tasks}
        return {
            id
            for task in tasks
            if any(channel == FAILED for channel, _ in self.journal.get(task.id, ()))
            for name in (HANDLER + task.identity, DEFAULT_HANDLER)
            if (id := task_id(task.step.base, task.step.ns, name, task.order)) not in kept
        }

    def _with_handlers(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks whose writes apply: handlers in place of what they handled."""
        handlers, self._handlers = self._handlers, NO_ITEMS
        return [*(task for task in tasks if not task.handled and task.failed is None), *handlers]


__all__ = ["Handlers"]
