"""Names and facts of nodes as pictures show them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from plait.drawing.graph import Node


def box_of(id: str) -> tuple[str, ...]:
    """The boxes around a node, outermost first.

    >>> box_of("research:find"), box_of("plan")
    (('research',), ())
    """
    return tuple(id.split(":")[:-1])


def short_name(node: Node) -> str:
    """A node's name without the boxes around it."""
    return node.name.rpartition(":")[2] or node.name


def facts(metadata: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """The metadata that can be shown: numbers, texts, and collections of them."""
    for key, value in (metadata or {}).items():
        shown = _shown(value)
        if shown is not None:
            yield str(key), shown


def _shown(value: Any) -> str | None:
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        items = cast("Collection[Any]", value)
        if all(isinstance(item, (str, int, float)) for item in items):
            shown = [str(item) for item in items]
            if isinstance(value, (set, frozenset)):
                shown.sort()  # a set has no order: the same picture in each process
            return ", ".join(shown)
    return None


def wrapped(text: str, words: int) -> list[str]:
    """A text in lines of so many words.

    >>> wrapped("one two three", 2), wrapped("  as it is ", 9)
    (['one two', 'three'], ['  as it is '])
    """
    parts = text.split()
    if len(parts) <= words:
        return [text]
    lines = math.ceil(len(parts) / max(words, 1))
    return [" ".join(parts[at * words : (at + 1) * words]) for at in range(lines)]


__all__ = ["box_of", "facts", "short_name", "wrapped"]
