"""What may follow what in a `StateGraph`, for pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from plait.constants import END, START
from plait.pregel.outline import Outline

if TYPE_CHECKING:
    from plait.graph.state import StateGraph


def outline_of(builder: StateGraph[Any]) -> Outline:
    """The edges, joins, conditional edges and declared destinations of a builder.

    A conditional edge that does not say where it may lead leads nowhere in a picture.
    """
    edges: dict[str, list[str]] = {name: [] for name in (START, *builder.nodes)}
    for start, end in sorted(builder.edges):
        if end != END:
            edges[start].append(end)
    choices: dict[str, list[tuple[str | None, str]]] = {
        name: list(_declared(spec.ends)) for name, spec in builder.nodes.items()
    }
    for source, branches in builder.branches.items():
        for branch in branches.values():
            choices.setdefault(source, []).extend(
                (str(result), end) for result, end in (branch.ends or {}).items()
            )
    return Outline(
        edges,
        sorted(builder.waiting_edges),
        choices,
        {name for name, spec in builder.nodes.items() if spec.defer},
    )


def _declared(ends: Mapping[str, str] | tuple[str, ...]) -> Iterable[tuple[str | None, str]]:
    if isinstance(ends, Mapping):
        return [(label, end) for end, label in ends.items()]
    return [(None, end) for end in ends]


__all__ = ["outline_of"]
