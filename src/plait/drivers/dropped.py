"""Streams that the garbage collector closes: in any thread, wherever that happens to be.

A half-read stream is given up where it is dropped: what runs is stopped, and the thread given back.
The collector may come by while its thread holds the lock of a saver, or has a transaction open in
the same file. To give the thread back there would wait for ever; so another thread does it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from plait.drivers.pool import WorkerPool

_LOCKED = (
    "plait.cache",
    "plait.checkpoint",
    "plait.drivers.pool",
    "plait.drivers.writer",
    "plait.postgres",
    "plait.sqlite",
    "plait.store",
)
"""Modules (and packages) that call nothing that runs a graph while they hold a lock."""
_SERVES = WorkerPool.serve.__code__
"""Where every worker's stack begins: it holds none."""

streaming: set[object] = set()
"""The drivers whose streams are not read to their end. The collector, which closes what it finds in
any order, must not close a run's loop before the stream that is to tell the loop of it."""


def inside_storage() -> bool:
    """Whether the caller's thread is at work in a saver, store or cache further up."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if frame.f_code is not _SERVES and module.startswith(_LOCKED):
            return True
        frame = frame.f_back
    return False


def quietly(work: Callable[[], None]) -> None:
    """Do work whose errors nobody waits for: they are told as those of a thread are."""
    try:
        work()
    except BaseException as error:
        thread = threading.current_thread()
        told = (type(error), error, error.__traceback__, thread)
        threading.excepthook(threading.ExceptHookArgs(told))


__all__ = ["inside_storage", "quietly", "streaming"]
