"""Following the patches of a list: its items, and where they lie, after each of them.

What patches say was written by others: every length and place is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from plait.checkpoint.log.lists import splice_runs
from plait.checkpoint.log.records import damaged
from plait.checkpoint.log.versions import Run
from plait.checkpoint.serde import Recipes

Splices: TypeAlias = "Sequence[tuple[int, int, int]]"
Trail: TypeAlias = "list[tuple[bytes, int, Splices, bytes, int]]"
"""Of each patch the version that it makes, its length, its splices (of a dict: none) and what it
brings, packed, and its depth."""


class Base(NamedTuple):
    """What patches of a list stand on."""

    items: list[Any]
    recipes: Recipes
    runs: list[Run]
    size: int
    written: int


def patched(
    base: Base, trail: Trail, counts: Sequence[int]
) -> tuple[list[int] | None, list[Run], int, int]:
    """Follow patches: where the items of a list stand among all that were ever in it (None: it is
    those, in their order), its runs, size, and bytes written."""
    _, _, runs, size, written = base
    order: list[int] | None = None
    held = len(base.items)
    for (version, length, rows, packed, _), count in zip(trail, counts, strict=True):
        size += len(packed)
        written += len(packed)
        if order is None and rows == ((held, 0, count),):  # an append
            runs.append((version, 0, count))
            held += count
            if held != length:
                raise damaged("list")
            continue
        if order is None:
            order = list(range(held))
        lost = _apply(order, rows, list(range(held, held + count)))
        held += count
        runs = splice_runs(runs, list(rows), version)
        if len(order) != length:
            raise damaged("list")
        size -= size * lost // (length + lost) if lost else 0
    return order, runs, size, written


def _apply(items: list[int], rows: Splices, inserted: list[int]) -> int:
    """Apply splices to items in place. Returns how many items were lost."""
    check_splices(len(items), rows, len(inserted))
    end = len(inserted)
    for start, deleted, count in reversed(rows):  # from the back, so that places stay true
        items[start : start + deleted] = inserted[end - count : end]
        end -= count
    return sum(row[1] for row in rows)


def check_splices(length: int, rows: Splices, inserted: int) -> None:
    """Complain of splices that do not fit a list of this length, or so many items to insert."""
    position = 0
    for start, deleted, _ in rows:
        if start < position or start + deleted > length:
            raise damaged("list")
        position = start + deleted
    if sum(row[2] for row in rows) != inserted:
        raise damaged("list")
