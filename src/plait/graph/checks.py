"""What is wrong with a graph as declared: edges that lead nowhere, nodes that nothing leads to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from warnings import warn

from plait.constants import END, START
from plait.errors import InvalidGraphError, UnreachableNodeWarning, nearest
from plait.graph.routes import may_route, reached_nodes

if TYPE_CHECKING:
    from plait.graph.state import StateGraph

_PROGRAM = 5
"""Frames between a warning and the program: this module's two, `validate` and `compile`."""


def check_structure(builder: StateGraph[Any], interrupt: Sequence[str]) -> None:
    """Check the edges, the branches, the declared ends and the breakpoints (`interrupt`).

    Raises:
        InvalidGraphError: one of them names a node that does not exist, or nothing leaves START.

    Warns:
        UnreachableNodeWarning: nothing leads to a node.
    """
    starts = {start for start, _ in builder.edges} | set(builder.branches)
    for start in starts:
        if start != START and start not in builder.nodes:
            raise InvalidGraphError(
                f"Found edge starting at unknown node {start!r}. {nearest(start, builder.nodes)}"
            )
    if START not in starts:
        raise InvalidGraphError(
            "Graph must have an entrypoint: add at least one edge from START to another node."
        )
    for _, end in builder.edges:
        _check_end(builder, end, "Found edge ending at unknown node")
    for source, branches in builder.branches.items():
        for name, branch in branches.items():
            for end in (branch.ends or {}).values():
                what = f"At {source!r} node, {name!r} branch found unknown target"
                _check_end(builder, end, what)
    for node, spec in builder.nodes.items():
        for end in spec.ends:
            _check_end(builder, end, f"Node {node!r} declares a Command to unknown node")
    for node in interrupt:
        if node not in builder.nodes:
            raise InvalidGraphError(
                f"Interrupt node {node!r} not found. {nearest(node, builder.nodes)}"
            )
    _check_reachable(builder)


def _check_end(builder: StateGraph[Any], end: str, what: str) -> None:
    if end != END and end not in builder.nodes:
        raise InvalidGraphError(f"{what} {end!r}. {nearest(end, [*builder.nodes, END])}")


def _check_reachable(builder: StateGraph[Any]) -> None:
    """Warn of nodes that nothing leads to, and of joins that can never fire."""
    reached = reached_nodes(builder)
    if set(builder.nodes) <= reached or _is_open_ended(builder):
        return
    for starts, end in sorted(builder.waiting_edges):
        missing = [start for start in starts if start not in reached]
        if missing:
            warn(
                f"The join of {list(starts)} into {end!r} can never fire: nothing leads to "
                f"{missing[0]!r}. Add an edge to it, or take it out of the join.",
                UnreachableNodeWarning,
                stacklevel=_PROGRAM,
            )
    for name in builder.nodes:
        if name not in reached and not any(name == end for _, end in builder.waiting_edges):
            warn(
                f"Node {name!r} is unreachable: no edge, conditional edge or declared "
                "destination leads to it. Add an edge, or name it in the destinations= of "
                "the node whose Command leads there.",
                UnreachableNodeWarning,
                stacklevel=_PROGRAM,
            )


def _is_open_ended(builder: StateGraph[Any]) -> bool:
    """Whether functions decide at run time where the graph goes, so that nothing can be said."""
    handler = builder.defaults.handler
    return (
        any(branch.ends is None for each in builder.branches.values() for branch in each.values())
        or (handler is not None and may_route(handler))
        or any(spec.may_route for spec in builder.nodes.values())
    )
