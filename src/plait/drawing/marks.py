"""Marks: where a run went and where it stands, in a graph that is drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plait.constants import START
from plait.errors import UnknownNodeError, nearest

if TYPE_CHECKING:
    from plait.drawing.graph import Edge, Graph


@dataclass(frozen=True)
class Marks:
    """What is marked, by the ids of nodes and boxes (`research` is the box of `research:find`)."""

    visited: frozenset[str] = frozenset()
    current: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    walked: frozenset[tuple[str, str]] = frozenset()
    """The edges along which the run went, as (source, target)."""

    def of(self, id: str) -> str | None:
        """The mark of a node or box: "failed", "current", "visited" or None."""
        for mark in ("failed", "current", "visited"):
            if id in getattr(self, mark):
                return mark
        return None

    def is_walked(self, edge: Edge) -> bool:
        """Whether the run went along an edge."""
        return (edge.source, edge.target) in self.walked

    def renamed(self, ids: Mapping[str, str]) -> Marks:
        """The same marks where nodes have other ids."""

        def new(names: frozenset[str]) -> frozenset[str]:
            return frozenset(ids.get(name, name) for name in names)

        return Marks(
            new(self.visited),
            new(self.current),
            new(self.failed),
            frozenset((ids[source], ids[target]) for source, target in self.walked),
        )


def marks_of(
    graph: Graph,
    path: Iterable[str | Collection[str]],
    current: str | Collection[str],
    failed: str | Collection[str],
) -> Marks:
    """See `Graph.mark`."""
    steps = [_ids(graph, step) for step in path]
    now, broken = _ids(graph, current), _ids(graph, failed)
    if START in graph.nodes and steps and START not in steps[0]:
        steps.insert(0, frozenset({START}))
    return Marks(
        visited=frozenset[str]().union(*steps) - now - broken,
        current=now - broken,
        failed=broken,
        walked=_walked(graph, [*steps, now | broken]),
    )


def _ids(graph: Graph, names: str | Collection[str]) -> frozenset[str]:
    """The ids in this graph of the nodes of one step.

    A name that the graph has as a box stays; one inside a box that is drawn closed becomes that
    of the box.
    """
    found: set[str] = set()
    for name in (names,) if isinstance(names, str) else names:
        shown = name
        while shown and not any(_inside(id, shown) for id in graph.nodes):
            shown = shown.rpartition(":")[0]
        if not shown:
            raise UnknownNodeError(
                f"Node {name!r} cannot be marked: the graph does not have it. "
                + nearest(name, graph.nodes)
            )
        found.add(shown)
    return frozenset(found)


def _inside(id: str, box: str) -> bool:
    return id == box or id.startswith(f"{box}:")


def _walked(graph: Graph, steps: list[frozenset[str]]) -> frozenset[tuple[str, str]]:
    """The edges between what ran: from the step before, or from the last step that fits."""
    walked: set[tuple[str, str]] = set()
    for at, step in enumerate(steps):
        for name in step:
            entering = [
                edge
                for edge in graph.edges
                if _inside(edge.target, name)
                and (edge.source == name or not _inside(edge.source, name))
            ]
            for before in reversed(steps[:at]):
                taken = [e for e in entering if any(_inside(e.source, one) for one in before)]
                if taken:
                    walked.update((edge.source, edge.target) for edge in taken)
                    break
    return frozenset(walked)


__all__ = ["Marks", "marks_of"]
