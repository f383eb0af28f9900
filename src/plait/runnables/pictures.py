"""Runnables as graphs that can be drawn: what goes in, what is done, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import RootModel, create_model

from plait.drawing.graph import Graph
from plait.errors import ConfigError

if TYPE_CHECKING:
    from plait.runnables.base import Runnable
    from plait.runnables.config import RunnableConfig


def alone(runnable: Runnable[Any, Any], config: RunnableConfig | None) -> Graph:
    """One runnable between its input and its output."""
    graph = Graph()
    metadata = None if config is None else dict(config.get("metadata") or {})
    given = graph.add_node(_form(runnable, "Input"))
    done = graph.add_node(runnable, metadata=metadata)
    returned = graph.add_node(_form(runnable, "Output"))
    graph.add_edge(given, done)
    graph.add_edge(done, returned)
    return graph


def in_sequence(steps: Sequence[Any], config: RunnableConfig | None) -> Graph:
    """Runnables one after the other, with only the first's input and the last's output.

    Raises:
        ConfigError: a step, being a graph itself, has no one way in or out.
    """
    graph = Graph()
    for at, step in enumerate(steps):
        its = cast("Graph", step.get_graph(config))
        if at > 0:
            its.trim_first_node()
        if at < len(steps) - 1:
            its.trim_last_node()
        before = graph.last_node()
        first, _ = graph.extend(its)
        if first is None:
            raise ConfigError(
                f"Runnable {step!r} has no first node: nothing, or more than one thing, starts it. "
                "A sequence with it cannot be drawn; draw it alone."
            )
        if before is not None:
            graph.add_edge(before, first)
    return graph


def _form(runnable: Any, suffix: str) -> Any:
    """What goes in, or comes out, as a pydantic model: the runnable's own, if it has one."""
    known = getattr(runnable, f"get_{suffix.lower()}_schema", None)
    if known is not None:
        return known()
    return create_model(runnable.get_name(suffix), __base__=RootModel[Any])


__all__ = ["alone", "in_sequence"]
