"""What may follow what in a graph, and the edges of its picture that come of it.

The edges are found by going through the graph as a run would, super-step by super-step, taking
every decision in every way: so that a picture has neither what nothing leads to, nor an edge that
no run can take.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from plait.constants import END, START
from plait.drawing.graph import Edge

_STEPS = 250
"""How long a graph is followed that finds nothing new and never ends."""


@dataclass(frozen=True)
class Outline:
    """What may follow what.

    Attributes:
        edges: node to the nodes that run after it.
        joins: nodes, and the node that runs after all of them.
        choices: node to where it may decide to go: the label of the decision, and the node. A
            label that only repeats the node's name is not shown.
        deferred: the nodes that run when nothing else is left.
    """

    edges: Mapping[str, Sequence[str]]
    joins: Sequence[tuple[tuple[str, ...], str]] = ()
    choices: Mapping[str, Sequence[tuple[str | None, str]]] = field(
        default_factory=dict[str, Sequence[tuple[str | None, str]]]
    )
    deferred: Collection[str] = ()


def edges_of(outline: Outline) -> list[Edge]:
    """The edges of the picture: sorted, those to the end last.

    >>> [f"{e.source} > {e.target}" for e in edges_of(Outline({START: ["a"], "a": ["b"]}))]
    ['__start__ > a', 'a > b', 'b > __end__']
    """
    walk = _Walk(outline)
    last = walk.through()
    found = [
        edge._replace(data=None) if edge.data == edge.target else edge
        for _, edge in sorted(walk.edges.items(), key=itemgetter(0))
    ]
    leaving = {edge.source for edge in found}
    arrived = {edge.target for edge in found} - {END}
    closing = [Edge(node, END) for node in sorted(arrived - leaving)]
    if not closing and len(last) == 1 and not any(edge.target == END for edge in found):
        # A graph that says nowhere how it ends: it may, wherever going through it stopped.
        closing = [Edge(node, END, conditional=True) for node in last]
    return found + closing


class _Walk:
    """One way through a graph: all of its ways at once."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.edges: dict[tuple[str, str], Edge] = {}
        self.decided: set[str] = set()
        self.arrived: dict[int, set[str]] = {}
        """For each join, by its place, the nodes that it has heard from."""
        self.waiting: dict[str, list[Edge]] = {}
        """The deferred nodes that will run, with the edges to them."""

    def through(self) -> list[str]:
        """Go through the graph; returns the nodes of the last super-step."""
        running = [START]
        step, known = 0, -1
        while step < _STEPS or len(self.edges) > known:
            known = len(self.edges)
            step += 1
            following = self._next(running)
            if not following:
                break
            running = following
        return running

    def _next(self, running: list[str]) -> list[str]:
        led: dict[str, list[Edge]] = {}
        for edge in self._leaving(running):
            led.setdefault(edge.target, []).append(edge)
        self._draw(led.pop(END, ()))
        for at, (sources, target) in enumerate(self.outline.joins):
            heard = self.arrived.setdefault(at, set())
            fresh = set(sources) & set(running)
            heard |= fresh
            if fresh and heard == set(sources):
                led.setdefault(target, [])
        late = {node: led.pop(node) for node in list(led) if node in self.outline.deferred}
        for node, edges in late.items():
            self.waiting.setdefault(node, []).extend(edges)
        if not led:
            led = self.waiting
            self.waiting = {}
            for node, edges in led.items():
                if node not in late:  # it waited for these to finish
                    known = {edge.source for edge in edges}
                    edges += [Edge(one, node, None, True) for one in running if one not in known]
        for node, edges in led.items():
            self._draw(edges)
            self._draw(self._joined(node))
        return list(led)

    def _leaving(self, running: list[str]) -> Iterable[Edge]:
        for node in running:
            for target in self.outline.edges.get(node, ()):
                yield Edge(node, target)
            if node not in self.decided:
                self.decided.add(node)
                for label, target in self.outline.choices.get(node, ()):
                    yield Edge(node, target, label, True)

    def _joined(self, node: str) -> Iterable[Edge]:
        """The edges into a node that runs, from those that a join into it has heard from."""
        for at, (sources, target) in enumerate(self.outline.joins):
            if target == node:
                heard = self.arrived[at]
                yield from [Edge(source, node) for source in sources if source in heard]
                if heard == set(sources):
                    heard.clear()

    def _draw(self, edges: Iterable[Edge]) -> None:
        """Keep one edge from each node: a decision before a plain one, then the first label.

        An edge of a later super-step replaces that of an earlier one.
        """
        kept: dict[str, Edge] = {}
        for edge in edges:
            other = kept.get(edge.source)
            if other is None or _rank(edge) < _rank(other):
                kept[edge.source] = edge
        self.edges |= {(edge.source, edge.target): edge for edge in kept.values()}


def _rank(edge: Edge) -> tuple[bool, str]:
    return (not edge.conditional, edge.data or "")


__all__ = ["Outline", "edges_of"]
