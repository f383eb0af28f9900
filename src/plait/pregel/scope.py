"""What code inside a running task sees of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plait.constants import START
from plait.drivers.base import Here, thread_of_control
from plait.engine.events import Chunk
from plait.engine.tasks import Task
from plait.errors import InvalidUpdateError, nearest

if TYPE_CHECKING:
    from plait.pregel.run import Run
    from plait.runtime import Runtime


class TaskScope:
    """One attempt of one task, as the code inside it sees it."""

    __slots__ = ("_children", "_config", "_main", "_runtime", "pushed", "run", "task")

    def __init__(self, run: Run, task: Task, main: Here) -> None:
        self.run = run
        self.task = task
        self._main = main
        self._config: Any = None
        self._runtime: Runtime[Any] | None = None
        self._children = 0
        self.pushed: list[tuple[str, Any]] | None = None
        """What the code wrote to the state before it returned (`push_message`)."""
        if task.questions is not None:
            task.questions.restart(self._main)

    def interrupt(self, value: Any, key: str | None, response_schema: Any) -> Any:
        here = thread_of_control()
        questions = self.task.asked()
        if questions.main is None:
            questions.main = self._main
        return questions.ask(value, key, here, response_schema)

    def config(self) -> Any:
        if self._config is None:
            self._config = self.run.task_config(self.task)
        return self._config

    def runtime(self) -> Runtime[Any]:
        if self._runtime is None:
            self._runtime = self.run.task_runtime(self)
        return self._runtime

    def extras(self) -> dict[str, Any]:
        """The extra keywords of the call of the graph."""
        return self.run.extras

    def write_custom(self, chunk: Any) -> None:
        """Send a chunk to the `custom` stream, if anybody listens to it."""
        self.send("custom", chunk)

    def send(self, mode: str, payload: Any) -> None:
        """Send a chunk to a stream mode, if anybody listens to it."""
        run = self.run
        if mode in run.modes:
            run.driver.deliver(Chunk(run.ns, mode, payload))

    def push(self, key: str, value: Any) -> None:
        """Write to a key of the state before what the task returns.

        Raises:
            InvalidUpdateError: the graph has no such key.
        """
        channels = self.run.graph.plan.channels
        if key not in channels:
            raise InvalidUpdateError(
                f"Node {self.task.name!r} pushed to key {key!r}, which the state does not have. "
                f"{nearest(key, (name for name in channels if name != START))}"
            )
        if self.pushed is None:
            self.pushed = []
        self.pushed.append((key, value))

    def child_ns(self) -> str:
        """The namespace of a graph that this task runs: its own, numbered from the second on."""
        nth, self._children = self._children, self._children + 1
        return self.task.ns if nth == 0 else f"{self.task.ns}|{nth}"
