"""Which graph runs inside a node: the node itself, a part of it, or one that its code leads to.

Only for looking at graphs and threads (`get_subgraphs`, and the states of nested graphs). What a
run does never depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from plait.engine.mentioned import parts_of, reached
from plait.engine.plan import GraphPlan, NodePlan

RUNS = frozenset({"invoke", "ainvoke", "stream", "astream", "batch", "abatch"})
"""The methods that run a graph: code that calls none of them runs none."""


def graph_inside(node: NodePlan) -> Any:
    """The compiled graph that a node runs and whose checkpoints it may keep, or None."""
    if not node.inside:
        node.inside.append(_looked_for(node))
    return node.inside[0]


def _looked_for(node: NodePlan) -> Any:
    if node.subgraph is not None:
        return node.subgraph
    for graph in graphs_of(node.code):
        own = any(node is other for other in graph.plan.nodes.values())
        if not own and graph.checkpointer is not False:
            return graph
    return None


def graphs_of(code: Any) -> Iterator[Any]:
    """The compiled graphs that some code is, is made of, or leads to."""
    for value in chain(_made_of(code), reached(code, RUNS)):
        if is_compiled(value):
            yield value


def _made_of(code: Any) -> Iterator[Any]:
    """What a runnable is made of, down to what is made of nothing."""
    for part in parts_of(code):
        parts = [*parts_of(part)]
        yield from _made_of(part) if parts else (part,)


def is_compiled(value: Any) -> bool:
    """Whether it is a compiled graph."""
    return isinstance(getattr(value, "plan", None), GraphPlan) and hasattr(value, "checkpointer")
