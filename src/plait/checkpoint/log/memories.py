"""What pruning must leave of graphs that remember, so that kept checkpoints find their memory.

The lane of a graph with memory is one for the whole thread; which of its checkpoints a run finds
depends on the past of the one it goes on from (see `plait.engine.past`). So of each such lane the
newest that a kept checkpoint of the root finds is kept, too; and where the past of a kept one goes
with what is dropped, its frontier says what is asked of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from plait.checkpoint.log.keys import unpack
from plait.engine.past import before, ran_before
from plait.engine.records import Mark


class Remembered(NamedTuple):
    """A checkpoint of a graph with memory."""

    id: bytes
    when: tuple[str, ...]
    """The super-steps that it was made in, from the root's inwards."""


def remembered(id: bytes, metadata: Mapping[str, Any]) -> Remembered:
    """A checkpoint of a graph with memory, by its metadata."""
    parents: Mapping[str, str] = metadata.get("parents") or {}
    return Remembered(id, tuple(parents.values()))


class Past:
    """The checkpoints of the root lane, and who finds what in their past.

    Args:
        marks: All of them, by ascending id.
        kept: Those that stay.
    """

    def __init__(self, marks: Sequence[Mark], kept: Collection[bytes]) -> None:
        self._marks = {mark.id: mark for mark in marks}
        self._kept = {unpack(id) for id in kept}
        self._told: set[str] = set()
        self.recalled = False
        """Whether there is a lane with memory."""

    def recall(
        self, made: Sequence[Remembered], kept: Collection[bytes], *, pin: bool
    ) -> set[bytes]:
        """Which checkpoints of a lane with memory stay for the sake of the root's.

        Args:
            made: All of its checkpoints.
            kept: Those that stay anyway.
            pin: Whether any others shall stay.
        """
        pinned = self._found(made) if pin else set[bytes]()
        left = pinned.union(kept)
        self.recalled = True
        self._told.update(one.when[0] for one in made if one.when and one.id in left)
        return pinned

    def _found(self, made: Sequence[Remembered]) -> set[bytes]:
        """Which checkpoints of a lane the kept ones of the root find as their memory."""
        last: dict[str, Remembered] = {}
        for each in made:
            if each.when:
                root = each.when[0]
                last[root] = max(last.get(root, each), each, key=lambda one: (one.when, one.id))
        steps = sorted(last)
        newest: dict[str, str | None] = {}
        found: set[bytes] = set()
        for mark in self._marks.values():
            at = before(mark)
            ran = max(self._ran(mark, steps), default=newest.get(at) if at is not None else None)
            newest[mark.id] = ran
            if ran is not None and mark.id in self._kept:
                found.add(last[ran].id)
        return found

    def lost(self, id: bytes, parent: bytes | None) -> list[str]:
        """The super-steps on the way to a kept checkpoint that nobody would know of any more.

        Args:
            id: The checkpoint.
            parent: The kept one that will be before it.
        """
        steps = sorted(self._told)
        found: set[str] = set()
        mark = self._marks.get(unpack(id))
        last = unpack(parent) if parent is not None else None
        while mark is not None:
            found.update(self._ran(mark, steps))
            at = before(mark)
            if at is None or at == last:
                break
            mark = self._marks.get(at)
        return sorted(found)

    def _ran(self, mark: Mark, steps: Sequence[str]) -> Iterator[str]:
        """Which of some super-steps ran between a checkpoint and the one before it."""
        at = before(mark)
        above = self._marks.get(at) if at is not None else None
        first = bisect_left(steps, at) if at is not None else 0
        near = steps[first : bisect_left(steps, mark.id)]
        yield from (step for step in near if ran_before(mark, above, step))
        yield from (step for step in mark.past or () if step in steps[:first])


__all__ = ["Past", "Remembered", "remembered"]
