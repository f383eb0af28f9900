"""The sweeper: a daemon thread that deletes expired items now and then.

It goes on after an error, such as a database that is down for a while; the error is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event, Lock, Thread

_log = logging.getLogger(__name__)


class Sweeper:
    """Calls `sweep` every so often, from `start` to `stop`."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._lock = Lock()
        self._stopping = Event()
        self._thread: Thread | None = None
        self._ended: Future[None] = Future()

    def start(self, seconds: float) -> Future[None]:
        """Begin, unless it runs; the future is done when it has ended."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stopping, self._ended = Event(), Future()
                work = (seconds, self._stopping, self._ended)
                self._thread = Thread(
                    target=self._run, args=work, name="plait-store-sweeper", daemon=True
                )
                self._thread.start()
            return self._ended

    def stop(self, timeout: float | None = None) -> bool:
        """End it; whether it has ended within `timeout` seconds."""
        with self._lock:
            self._stopping.set()
            if self._thread is None:
                return True
            self._thread.join(timeout)
            return not self._thread.is_alive()

    def _run(self, seconds: float, stopping: Event, ended: Future[None]) -> None:
        while not stopping.wait(seconds):
            try:
                self._sweep()
            except Exception:
                log_failure(seconds)
        ended.set_result(None)


def log_failure(seconds: float) -> None:
    """Log the error that is being handled: a sweep failed, the next one comes in `seconds`."""
    _log.exception("Expired items could not be deleted; trying again in %ss", seconds)
