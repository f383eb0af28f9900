"""Timers of one driver: what fires when, and what was called off meanwhile."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

_SLACK = 64
"""Called off timers that may lie around before they are swept out."""


class Timers:
    """Things that fire at their time, once. Used by one thread alone."""

    __slots__ = ("_heap", "_live", "_ticket")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Any]] = []
        self._live: dict[Any, int] = {}
        self._ticket = count()

    def set(self, what: Any, due: float) -> None:
        """Let `what` fire at `due`; it replaces an earlier timer of it."""
        ticket = next(self._ticket)
        self._live[what] = ticket
        heappush(self._heap, (due, ticket, what))

    def unset(self, what: Any) -> None:
        """Call a timer off, if there is one."""
        self._live.pop(what, None)
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            self._heap = [timer for timer in self._heap if self._live.get(timer[2]) == timer[1]]
            heapify(self._heap)

    def unset_all(self, kind: type[Any]) -> None:
        """Call off the timers of everything of a kind."""
        for what in [what for what in self._live if isinstance(what, kind)]:
            self.unset(what)

    @property
    def next_due(self) -> float | None:
        """When the next one fires; None: there is none."""
        heap = self._heap
        while heap:
            due, ticket, what = heap[0]
            if self._live.get(what) == ticket:
                return due
            heappop(heap)
        return None

    def pop(self) -> Any:
        """Take the next one, which there is."""
        what = heappop(self._heap)[2]
        del self._live[what]
        return what


NO_TIMERS = Timers()
"""The timers of drivers that have set none."""

__all__ = ["NO_TIMERS", "Timers"]
