"""Graphs with subgraphs, memory and questions, and a model of going back in time in them.

In the model a point in time is what a reader would expect it to be: what has been said so far, and
what each subgraph with memory remembers. Going back is taking an earlier point; nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

DEEPEST = 2


@dataclass(frozen=True)
class Node:
    """One node: it says something, asks something, or is a graph."""

    name: str
    kind: str
    """"plain", "ask" or "sub"."""
    memory: bool = False
    inner: Graph | None = None


@dataclass(frozen=True)
class Graph:
    """Layers of nodes; those of one layer run beside each other, below the root there is one."""

    layers: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True)
class Point:
    """A point in time: before which layer (-1: before the input), what was said, what is known."""

    layer: int
    items: tuple[str, ...]
    memory: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    input: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inside:
    """A point in time inside a subgraph: a replay that begins there begins with these items."""

    path: str
    layer: int
    items: tuple[str, ...]


def graph_of(random: Random, depth: int = 0) -> Graph:
    """A random graph."""
    layers: list[tuple[Node, ...]] = []
    for at in range(random.randint(2, 4) if depth == 0 else random.randint(1, 2)):
        width = 2 if depth == 0 and random.random() < 0.35 else 1
        layers.append(tuple(_node(random, f"{'nmk'[depth]}{at}{i}", depth) for i in range(width)))
    return Graph(tuple(layers))


def _node(random: Random, name: str, depth: int) -> Node:
    kind = random.choice(("plain", "plain", "ask", "sub", "sub"))
    if kind == "sub" and depth < DEEPEST:
        return Node(name, "sub", random.random() < 0.5, graph_of(random, depth + 1))
    return Node(name, "ask" if kind == "ask" else "plain")


def said(path: str, items: Sequence[str]) -> str:
    """What a node says, or asks."""
    return f"{path}.{len(items)}"


def answer_to(question: str) -> str:
    """The answer that belongs to a question."""
    return f"<{question}>"


def after(items: tuple[str, ...], path: str = "") -> str:
    """What a node that calls a graph says about its result."""
    return f"{path}={len(items)}:{items[-1]}"


class Course:
    """One run in the model: what ran, and the points in time that it passed."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.ran: list[str] = []
        self.points: list[Point] = []

    def go(self, start: Point, inside: Inside | None = None) -> Point:
        """Run from a point in time to the end."""
        point = start
        if point.layer < 0:
            point = replace(point, layer=0, items=point.items + point.input, input=())
            self.points.append(point)
        while point.layer < len(self.graph.layers):
            point = self._layer(point, "", self.graph, inside)
            inside = None
            self.points.append(point)
        return point

    def _layer(self, point: Point, outer: str, graph: Graph, inside: Inside | None) -> Point:
        memory = dict(point.memory)
        new: list[str] = []
        for node in sorted(graph.layers[point.layer], key=lambda node: node.name):
            path = f"{outer}/{node.name}"
            if node.kind != "sub":
                self.ran.append(path)
                text = said(path, point.items)
                new.append(answer_to(text) if node.kind == "ask" else text)
                continue
            within = inside if inside is not None and inside.path == path else None
            result = self._sub(node, path, point.items, memory, within)
            new.append(after(result, path))
        items = (*point.items, *new)
        return Point(point.layer + 1, items, memory)

    def _sub(
        self,
        node: Node,
        path: str,
        items: tuple[str, ...],
        memory: dict[str, tuple[str, ...]],
        inside: Inside | None,
    ) -> tuple[str, ...]:
        assert node.inner is not None
        known = memory.get(path, ()) if node.memory else ()
        point = Point(0, (*known, *items[-1:]), memory)
        if inside is not None:
            point = Point(inside.layer, inside.items, memory)
        while point.layer < len(node.inner.layers):
            point = self._layer(point, path, node.inner, None)
        memory.update(point.memory)
        if node.memory:
            memory[path] = point.items
        return point.items
