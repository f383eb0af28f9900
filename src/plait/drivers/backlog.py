"""How many chunks of a stream may wait for a slow consumer, and how their makers wait for room.

Chunks are what running tasks say before they end (tokens, custom data). A worker thread that
writes one while `BACKLOG` wait is blocked; an async task is suspended at its next await. When the
consumer asks for more, the driver takes all that waits and hands it out, so that a run holds at
most twice `BACKLOG`, and one more per task that writes.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Lock

from plait.drivers.base import Closed

BACKLOG = 128
"""How many chunks wait before those who make them wait."""
_making = Lock()


class Room:
    """Room among the waiting chunks, for worker threads.

    Args:
        waiting: how many there are.
    """

    __slots__ = ("_blocked", "_changed", "_waiting", "closed", "over")

    def __init__(self, waiting: Callable[[], int]) -> None:
        self._waiting = waiting
        self._changed: Condition | None = None
        self._blocked = 0
        self.closed = False
        """Whether nobody takes chunks any more."""
        self.over = False
        """Whether the run has ended."""

    @property
    def full(self) -> bool:
        """Whether those who make chunks should wait."""
        return self._waiting() >= BACKLOG and not (self.closed or self.over)

    def enter(self) -> None:
        """Block until there is room.

        Raises:
            Closed: nobody takes chunks any more.
        """
        if self.closed:
            raise Closed
        if self.full:
            self._wait()

    def _wait(self) -> None:
        with _making:
            changed = self._changed = self._changed or Condition()
        with changed:
            self._blocked += 1  # before looking again: whoever takes looks at it after taking
            try:
                while self.full:
                    changed.wait()
            finally:
                self._blocked -= 1
        if self.closed:
            raise Closed

    def taken(self) -> None:
        """What waited was taken."""
        if self._blocked and self._changed is not None:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """Nobody takes chunks any more: whoever waits, and who comes later, is told."""
        self.closed = True
        self.taken()

    def end(self) -> None:
        """The run has ended: whoever waits has outlived it, and goes on."""
        self.over = True
        self.taken()


__all__ = ["BACKLOG", "Room"]
