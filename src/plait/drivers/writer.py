"""Writes behind a running sync run: plans in order, a bounded number of them (`async`)."""

from __future__ import annotations

from queue import Queue
from threading import Thread
from typing import Any

from plait.checkpoint.base.port import Plan
from plait.drivers.base import PlanRunner

QUEUE_LIMIT = 64
"""Plans that may wait; a run that is further ahead of its storage waits."""


class BackgroundWriter:
    """Executes plans in the order they were put, in a thread of its own.

    After the first error nothing more is written, so that what is on disk stays a prefix of what
    happened; the error is raised once, at the next `put` or `flush`.
    """

    def __init__(self, saver: PlanRunner) -> None:
        self._saver = saver
        self._queue: Queue[Plan[Any] | None] = Queue(QUEUE_LIMIT)
        self._error: BaseException | None = None
        """The error that nobody has been told yet."""
        self._failed = False
        self._thread: Thread | None = None

    def put(self, plan: Plan[Any]) -> None:
        """Queue a plan; waits while the queue is full."""
        self._raise()
        if self._thread is None:
            self._thread = Thread(target=self._work, name="plait-writer", daemon=True)
            self._thread.start()
        self._queue.put(plan)

    def flush(self) -> None:
        """Wait until everything put so far is written."""
        if self._thread is not None:
            self._queue.join()
        self._raise()

    def close(self) -> None:
        """Write what is queued and end the thread."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _work(self) -> None:
        while (plan := self._queue.get()) is not None:
            try:
                if not self._failed:
                    self._saver.run(plan)
            except BaseException as error:
                self._failed, self._error = True, error
            finally:
                self._queue.task_done()
        self._queue.task_done()
