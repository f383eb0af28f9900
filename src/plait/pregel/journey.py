"""A thread's last run, marked in the picture of its graph: where it went and where it stands.

What has to be read is asked for with `yield`, so that sync and async code share the way.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from plait.constants import END, START
from plait.types import PregelTask, StateSnapshot

if TYPE_CHECKING:
    from plait.drawing.graph import Graph
    from plait.pregel.main import Pregel


def journey(graph: Pregel, config: Any, xray: int | bool) -> Graph:
    """See `Drawn.get_thread_graph`."""
    asking = _find(graph.get_graph(xray=xray), config, bool(xray))
    answer: Any = None
    try:
        while True:
            asked = asking.send(answer)
            if isinstance(asked, _Line):
                for snapshot in graph.get_state_history(asked.config, before=asked.head.config):
                    if asked.take(snapshot):
                        break
                answer = asked.snapshots
            else:
                answer = graph.get_state(asked)
    except StopIteration as done:
        return done.value


async def ajourney(graph: Pregel, config: Any, xray: int | bool) -> Graph:
    """`journey` in an event loop."""
    asking = _find(graph.get_graph(xray=xray), config, bool(xray))
    answer: Any = None
    try:
        while True:
            asked = asking.send(answer)
            if isinstance(asked, _Line):
                history = graph.aget_state_history(asked.config, before=asked.head.config)
                async for snapshot in history:
                    if asked.take(snapshot):
                        break
                answer = asked.snapshots
            else:
                answer = await graph.aget_state(asked)
    except StopIteration as done:
        return done.value


class _Line:
    """The checkpoints of one run before its last, newest first; other forks are left out."""

    def __init__(self, head: StateSnapshot) -> None:
        self.head = head
        self.snapshots: list[StateSnapshot] = []
        address = _configurable(head.config)
        self.config: Any = {
            "configurable": {key: address[key] for key in address if key != "checkpoint_id"}
        }
        self._wanted = _id(head.parent_config)

    def take(self, snapshot: StateSnapshot) -> bool:
        """Keep a checkpoint if it belongs here; returns whether it is where the run began."""
        if _id(snapshot.config) == self._wanted:
            self.snapshots.append(snapshot)
            self._wanted = _id(snapshot.parent_config)
        return self._wanted is None or _began(snapshot)


@dataclass
class _Way:
    """What is found of a run, by the ids of the picture."""

    path: list[list[str]] = field(default_factory=list[list[str]])
    current: list[str] = field(default_factory=list[str])
    failed: list[str] = field(default_factory=list[str])


Asked = Any
"""A config, answered by its state, or a line, answered by its checkpoints."""


def _find(drawn: Graph, config: Any, xray: bool) -> Generator[Asked, Any, Graph]:
    way = _Way()
    head = yield from _follow(way, config, "", xray)
    if head.metadata is not None and not way.current and not way.failed:
        way.path.append([END])
    return drawn.mark(way.path, current=way.current, failed=way.failed)


def _follow(
    way: _Way, config: Any, prefix: str, xray: bool
) -> Generator[Asked, Any, StateSnapshot]:
    """Add one run to the way: that of the thread, or one inside a node (`prefix`)."""
    head: StateSnapshot = yield config
    if head.metadata is None:
        return head  # nothing is stored
    ran: list[StateSnapshot] = []
    if not _began(head):
        ran = yield _Line(head)
    for snapshot in reversed(ran):
        way.path.append([prefix + task.name for task in snapshot.tasks])
        if xray:
            for task in snapshot.tasks:
                yield from _into(way, task, prefix)
    finished = [task.name for task in head.tasks if _is_done(task, head)]
    if finished:
        way.path.append([prefix + name for name in finished])
    failed = [task.name for task in head.tasks if task.error is not None]
    way.failed += [prefix + name for name in failed]
    asking = [task.name for task in head.tasks if task.interrupts]  # an error handler is not next
    stands = dict.fromkeys([*head.next, *asking])
    way.current += [prefix + name for name in stands if name not in failed and name != START]
    if xray:
        for task in head.tasks:
            yield from _into(way, task, prefix)
    return head


def _into(way: _Way, task: PregelTask, prefix: str) -> Generator[Asked, Any, None]:
    """The run inside a task, if the task is a graph that keeps its steps."""
    if task.state is not None and not isinstance(task.state, StateSnapshot):
        yield from _follow(way, task.state, f"{prefix}{task.name}:", True)


def _is_done(task: PregelTask, head: StateSnapshot) -> bool:
    """Whether a task of the last super-step is done, although others of it are not."""
    return task.result is not None and task.error is None and task.name not in head.next


def _began(snapshot: StateSnapshot) -> bool:
    return cast("dict[str, Any]", snapshot.metadata or {}).get("source") == "input"


def _configurable(config: Any) -> dict[str, Any]:
    return config["configurable"]


def _id(config: Any) -> str | None:
    return None if config is None else _configurable(config).get("checkpoint_id")


__all__ = ["ajourney", "journey"]
