"""Runnables as graphs that can be drawn: what goes in, what is done, what comes out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
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


def beside(
    runnable: Runnable[Any, Any], steps: Mapping[str, Any], config: RunnableConfig | None
) -> Graph:
    """Runnables with the same input side by side, their outputs in one.

    Raises:
        ConfigError: a step, being a graph itself, has no one way in or out.
    """
    graph = Graph()
    given = graph.add_node(_form(runnable, "Input"))
    returned = graph.add_node(_form(runnable, "Output"))
    for step in steps.values():
        its = cast("Graph", step.get_graph(config))
        its.trim_first_node()
        its.trim_last_node()
        if not its.nodes:  # it does nothing
            graph.add_edge(given, returned)
            continue
        first, last = graph.extend(its)
        if first is None or last is None:
            raise ConfigError(
                f"Runnable {step!r} has no first or last node. It cannot be drawn beside others; "
                "draw it alone."
            )
        graph.add_edge(given, first)
        graph.add_edge(last, returned)
    return graph


def assigning(mapper: Any, config: RunnableConfig | None) -> Graph:
    """The graph of what computes new keys, and the input that passes by."""
    from plait.runnables.passthrough import RunnablePassthrough  # builds on runnables

    graph = cast("Graph", mapper.get_graph(config))
    first, last = graph.first_node(), graph.last_node()
    if first is not None and last is not None:
        passing = graph.add_node(RunnablePassthrough())
        graph.add_edge(first, passing)
        graph.add_edge(passing, last)
    return graph


def prompts_in(runnable: Runnable[Any, Any], config: RunnableConfig | None) -> list[Any]:
    """The prompt templates among the nodes of its graph."""
    prompts = sys.modules.get("plait.prompts")  # a floor above; not loaded: there are none
    if prompts is None:
        return []
    template: Any = prompts.BasePromptTemplate
    nodes = runnable.get_graph(config).nodes.values()
    return [node.data for node in nodes if isinstance(node.data, template)]


def _form(runnable: Any, suffix: str) -> Any:
    """What goes in, or comes out, as a pydantic model: the runnable's own, if it has one."""
    known = getattr(runnable, f"get_{suffix.lower()}_schema", None)
    if known is not None:
        with suppress(TypeError):  # a type that cannot be told: the picture shows all else
            return known()
    return create_model(runnable.get_name(suffix), __base__=RootModel[Any])


__all__ = ["alone", "assigning", "beside", "in_sequence", "prompts_in"]
