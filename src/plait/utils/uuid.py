"""`uuid7`: random ids that sort by the time they were made."""

from __future__ import annotations

import time
from os import urandom
from threading import Lock
from uuid import UUID

_lock = Lock()
_last = [0]


def uuid7(nanoseconds: int | None = None) -> UUID:
    """A UUID of version 7 (RFC 9562); those of one process sort as they were made.

    Args:
        nanoseconds: Since 1970; by default now.

    >>> uuid7().version, uuid7() < uuid7()
    (7, True)
    """
    if nanoseconds is None:
        with _lock:
            ticks = _last[0] = max(_ticks(time.time_ns()), _last[0] + 1)
    else:
        ticks = _ticks(nanoseconds)
    milliseconds, fraction = divmod(ticks, 4096)
    chance = int.from_bytes(urandom(8)) & ((1 << 62) - 1)
    return UUID(int=milliseconds << 80 | 7 << 76 | fraction << 64 | 2 << 62 | chance)


def _ticks(nanoseconds: int) -> int:
    """Time in the steps that an id has room for, of 1/4096 ms."""
    return nanoseconds * 4096 // 1_000_000


__all__ = ["uuid7"]
