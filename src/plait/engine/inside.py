"""Which graph runs inside a node: the node itself, or one that the node's code mentions.

Only for looking at graphs and threads (`get_subgraphs`, and the states of nested graphs). What a
run does never depends on it.
"""

from __future__ import annotations

from typing import Any

from plait.engine.mentioned import mentioned
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
    for value in mentioned(node.code, RUNS):
        own = _is_graph(value) and any(node is other for other in value.plan.nodes.values())
        if _is_graph(value) and not own and value.checkpointer is not False:
            return value
    return None


def _is_graph(value: Any) -> bool:
    return isinstance(getattr(value, "plan", None), GraphPlan) and hasattr(value, "checkpointer")
