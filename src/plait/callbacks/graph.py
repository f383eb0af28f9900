"""Handlers of what happens to a graph's run as a whole: it stops to ask, and it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from uuid import UUID

from plait.callbacks.dispatch import ahandle_event, handle_event
from plait.callbacks.handlers import BaseCallbackHandler
from plait.callbacks.manager import AsyncCallbackManager, CallbackManager
from plait.types import Interrupt

GraphLifecycleStatus: TypeAlias = Literal[
    "input", "pending", "done", "interrupt_before", "interrupt_after", "out_of_steps"
]


@dataclass(frozen=True)
class GraphInterruptEvent:
    """A run stops: its tasks ask, or a breakpoint was reached.

    Attributes:
        run_id: of the run, as other callbacks are told it.
        status: "pending" for questions; "interrupt_before" or "interrupt_after" for breakpoints.
        checkpoint_id: the checkpoint that it goes on from.
        checkpoint_ns: where the graph is nested; empty for the outermost.
        interrupts: the questions.
    """

    run_id: UUID | None
    status: GraphLifecycleStatus
    checkpoint_id: str
    checkpoint_ns: tuple[str, ...]
    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True)
class GraphResumeEvent:
    """A run goes on from a checkpoint.

    Attributes:
        run_id: of the run, as other callbacks are told it.
        status: "pending".
        checkpoint_id: the checkpoint that it goes on from.
        checkpoint_ns: where the graph is nested; empty for the outermost.
    """

    run_id: UUID | None
    status: GraphLifecycleStatus
    checkpoint_id: str
    checkpoint_ns: tuple[str, ...]


GraphLifecycleEvent: TypeAlias = GraphInterruptEvent | GraphResumeEvent


class GraphCallbackHandler(BaseCallbackHandler):
    """A handler that also hears when runs of graphs stop to ask, and when they go on.

    Only handlers of this class do. The methods may be async.

    >>> from plait.graph import START, StateGraph
    >>> from plait.types import interrupt
    >>> class Asked(GraphCallbackHandler):
    ...     def on_interrupt(self, event):
    ...         print([question.value for question in event.interrupts])
    >>> builder = StateGraph(dict).add_node("ask", lambda state: interrupt("how many?"))
    >>> app = builder.add_edge(START, "ask").compile()
    >>> _ = app.invoke({"n": 1}, {"callbacks": [Asked()]})
    ['how many?']
    """

    def on_interrupt(self, event: GraphInterruptEvent) -> Any:
        """The outermost run stops to ask, or at a breakpoint."""

    def on_resume(self, event: GraphResumeEvent) -> Any:
        """A run, or one nested in it, goes on from a checkpoint."""


def graph_handlers(handlers: Sequence[Any]) -> list[Any]:
    """Those of the handlers that hear of graphs, the peer's too."""
    return [
        handler
        for handler in handlers
        if any(cls.__name__ == GraphCallbackHandler.__name__ for cls in type(handler).__mro__)
    ]


class GraphCallbackManager(CallbackManager):
    """Tells the handlers of a config what happens to a run."""

    run_id: UUID | None = None

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """The run stops."""
        handle_event(self.handlers, "on_interrupt", None, event)

    def on_resume(self, event: GraphResumeEvent) -> None:
        """The run goes on."""
        handle_event(self.handlers, "on_resume", None, event)


class AsyncGraphCallbackManager(AsyncCallbackManager):
    """`GraphCallbackManager` in an event loop."""

    run_id: UUID | None = None

    async def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """The run stops."""
        await ahandle_event(self.handlers, "on_interrupt", None, event)

    async def on_resume(self, event: GraphResumeEvent) -> None:
        """The run goes on."""
        await ahandle_event(self.handlers, "on_resume", None, event)


def get_sync_graph_callback_manager_for_config(
    config: Mapping[str, Any], *, run_id: UUID | None = None
) -> GraphCallbackManager:
    """The manager of the graph handlers in a config.

    Args:
        config: whose callbacks are told.
        run_id: the run that it is for.
    """
    manager = GraphCallbackManager.of_config(config)
    manager.handlers = graph_handlers(manager.handlers)
    manager.run_id = run_id
    return manager


def get_async_graph_callback_manager_for_config(
    config: Mapping[str, Any], *, run_id: UUID | None = None
) -> AsyncGraphCallbackManager:
    """`get_sync_graph_callback_manager_for_config` for async code."""
    manager = AsyncGraphCallbackManager.of_config(config)
    manager.handlers = graph_handlers(manager.handlers)
    manager.run_id = run_id
    return manager


__all__ = [
    "AsyncGraphCallbackManager",
    "GraphCallbackHandler",
    "GraphCallbackManager",
    "GraphInterruptEvent",
    "GraphLifecycleEvent",
    "GraphLifecycleStatus",
    "GraphResumeEvent",
    "get_async_graph_callback_manager_for_config",
    "get_sync_graph_callback_manager_for_config",
    "graph_handlers",
]
