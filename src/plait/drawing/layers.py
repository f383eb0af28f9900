"""Which edges of a graph lead back: a layout that knows them draws loops upward."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plait.drawing.graph import Graph


def backward(graph: Graph) -> set[int]:
    """The places, in `graph.edges`, of the edges that close a loop.

    An edge of a loop leads back if it does not lead away from where the graph starts.
    """
    after: dict[str, list[str]] = {id: [] for id in graph.nodes}
    for edge in graph.edges:
        after[edge.source].append(edge.target)
    depth = _depths(graph, after)
    loop = _loops(after)
    return {
        at
        for at, edge in enumerate(graph.edges)
        if edge.source != edge.target
        and loop[edge.source] == loop[edge.target]
        and depth[edge.target] < depth[edge.source]
    }


def _depths(graph: Graph, after: dict[str, list[str]]) -> dict[str, int]:
    """How many edges away from the start each node is; what nothing leads to is a start."""
    targets = {edge.target for edge in graph.edges}
    depth: dict[str, int] = {}
    starts = [id for id in graph.nodes if id not in targets] or list(graph.nodes)[:1]
    for start in [*starts, *graph.nodes]:
        if start not in depth:
            depth[start] = 0
        reached = [start]
        for node in reached:
            for target in after[node]:
                if target not in depth:
                    depth[target] = depth[node] + 1
                    reached.append(target)
    return depth


def _loops(after: dict[str, list[str]]) -> dict[str, int]:
    """Node to the number of its strongly connected component (Kosaraju, without recursion)."""
    before: dict[str, list[str]] = {id: [] for id in after}
    for node, targets in after.items():
        for target in targets:
            before[target].append(node)
    finished: list[str] = []
    seen: set[str] = set()
    for root in after:
        stack = [(root, False)]
        while stack:
            node, left = stack.pop()
            if left:
                finished.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((target, False) for target in after[node])
    component: dict[str, int] = {}
    for number, root in enumerate(reversed(finished)):
        stack_back = [root]
        while stack_back:
            node = stack_back.pop()
            if node not in component:
                component[node] = number
                stack_back.extend(before[node])
    return component


__all__ = ["backward"]
