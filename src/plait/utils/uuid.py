"""`uuid7`: random ids that sort by the time they were made."""

from __future__ import annotations

import time
from os import urandom
from threading import Lock
from uuid import UUID

from plait.common.forks import renew_in_child


class _Clock:
    """The last time that an id was made of."""

    def __init__(self) -> None:
        self._last = 0
        self.after_fork()
        renew_in_child(self)

    def after_fork(self) -> None:
        """In a forked child: the lock's holder does not exist here."""
        self._lock = Lock()

    def ticks(self) -> int:
        """Now, or a little later: each call gets another one."""
        with self._lock:
            ticks = self._last = max(_ticks(time.time_ns()), self._last + 1)
        return ticks


_clock = _Clock()


def uuid7(nanoseconds: int | None = None) -> UUID:
    """A UUID of version 7 (RFC 9562); those of one process sort as they were made.

    Args:
        nanoseconds: Since 1970; by default now.

    >>> uuid7().version, uuid7() < uuid7()
    (7, True)
    """
    ticks = _clock.ticks() if nanoseconds is None else _ticks(nanoseconds)
    milliseconds, fraction = divmod(ticks, 4096)
    chance = int.from_bytes(urandom(8)) & ((1 << 62) - 1)
    return UUID(int=milliseconds << 80 | 7 << 76 | fraction << 64 | 2 << 62 | chance)


def _ticks(nanoseconds: int) -> int:
    """Time in the steps that an id has room for, of 1/4096 ms."""
    return nanoseconds * 4096 // 1_000_000


__all__ = ["uuid7"]
