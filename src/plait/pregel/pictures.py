"""From a compiled graph to the `Graph` that is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plait.constants import END, START
from plait.drawing.graph import Graph
from plait.engine.inside import graph_inside
from plait.pregel.outline import Outline, edges_of

if TYPE_CHECKING:
    from plait.pregel.drawn import Drawn


def drawable(graph: Drawn, xray: int | bool) -> Graph:
    """See `Drawn.get_graph`."""
    drawn = Graph()
    inner: dict[str, Graph] = {}
    for name, node in graph.nodes.items():
        drawn.add_node(node.bound, name, metadata=_metadata(graph, name))
        nested = graph_inside(graph.plan.nodes[name]) if xray else None
        if nested is not None:
            inner[name] = drawable(nested, xray if xray is True else xray - 1)
    if START not in drawn.nodes:
        drawn.add_node(None, START)
    drawn.edges = edges_of(graph.outline())
    if any(edge.target == END for edge in drawn.edges):
        drawn.add_node(None, END)
    for name, nested in inner.items():
        _open(drawn, name, nested)
    return drawn


def outline_of_channels(graph: Drawn) -> Outline:
    """See `Drawn.outline`."""
    given = graph.plan.input
    taken = {given} if isinstance(given, str) else set(given)
    nodes = graph.nodes
    edges = {START: [name for name, node in nodes.items() if taken & set(node.triggers)]}
    for name, node in nodes.items():
        written = {entry.channel for entry in node.writers}
        edges[name] = [other for other, it in nodes.items() if written & set(it.triggers)]
    silent = [name for name, node in nodes.items() if not node.writers]
    return Outline(edges, choices={name: [(None, END)] for name in silent})


def _metadata(graph: Drawn, name: str) -> dict[str, Any] | None:
    plan = graph.plan
    known: dict[str, Any] = dict(plan.nodes[name].metadata or {})
    if plan.nodes[name].defer:
        known["defer"] = True
    stops = {"before": plan.interrupt_before, "after": plan.interrupt_after}
    named = [when for when, nodes in stops.items() if nodes is not None and name in nodes]
    if named:
        known["__interrupt"] = ",".join(named)
    tools: Any = getattr(plan.nodes[name].code, "tools_by_name", None)
    if tools:
        known["__tools"] = list(tools)  # what a node for tools can run
    return known or None


def _open(drawn: Graph, name: str, nested: Graph) -> None:
    """Put the graph inside a node in its place, without the start and the end it does not need."""
    nested.trim_first_node()
    nested.trim_last_node()
    first, last = nested.first_node(), nested.last_node()
    if first is None or last is None:
        return  # it has no one way in or out that could be connected
    drawn.nodes.pop(name)
    drawn.edges = [
        edge.copy(
            source=f"{name}:{last.id}" if edge.source == name else None,
            target=f"{name}:{first.id}" if edge.target == name else None,
        )
        for edge in drawn.edges
    ]
    drawn.extend(nested, prefix=name)


__all__ = ["drawable", "outline_of_channels"]
