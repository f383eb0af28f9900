"""Async connections that a program gave belong to an event loop: what other threads do there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from plait.errors import StorageUnavailableError

T = TypeVar("T")
_LOOK = 0.5
"""Seconds between two looks at the loop: one that was closed tells nobody."""


def wait_at(home: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], where: str) -> T:
    """Do async work on the event loop of another thread, and wait for what it returns.

    Raises:
        StorageUnavailableError: The loop ended before the work did.
    """
    try:
        told = asyncio.run_coroutine_threadsafe(work, home)
    except RuntimeError as error:  # it was closed
        work.close()
        raise _over(where) from error
    while True:
        try:
            return told.result(_LOOK)
        except CancelledError as error:
            raise _over(where) from error
        except TimeoutError:
            if told.done():
                raise
            if home.is_closed():
                raise _over(where) from None


def _over(where: str) -> StorageUnavailableError:
    return StorageUnavailableError(
        f"{where}: the event loop of the connections that were given ended while another thread "
        "used them. Whether this call was stored is not known; let such threads end first. Then go "
        "on with the thread, from a loop that runs: what was acknowledged is stored."
    )


__all__ = ["wait_at"]
