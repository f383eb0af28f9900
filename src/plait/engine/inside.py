"""Which graph runs inside a node: the node itself, a part of it, or one that its code mentions.

Only for looking at graphs and threads (`get_subgraphs`, and the states of nested graphs). What a
run does never depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from plait.engine.mentioned import mentioned, parts_of
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
    for value in chain(_made_of(node.code), mentioned(node.code, RUNS)):
        own = is_compiled(value) and any(node is other for other in value.plan.nodes.values())
        if is_compiled(value) and not own and value.checkpointer is not False:
            return value
    return None


def _made_of(code: Any) -> Iterator[Any]:
    """What a runnable is made of, down to what is made of nothing."""
    for part in parts_of(code):
        parts = [*parts_of(part)]
        yield from _made_of(part) if parts else (part,)


def is_compiled(value: Any) -> bool:
    """Whether it is a compiled graph."""
    return isinstance(getattr(value, "plan", None), GraphPlan) and hasattr(value, "checkpointer")
