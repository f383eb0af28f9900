"""Writes behind a running run (`durability="async"`): in order, a few milliseconds late at most.

Plans that come in quick succession are written together, in one transaction: a run of short steps
pays for one now and then. A step that takes longer finds those before it written.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from time import monotonic
from typing import Any

from plait.checkpoint.base.port import Plan
from plait.drivers.base import PlanRunner
from plait.drivers.pool import workers

MOST = 32
"""Plans that may wait, beside those that are being written; else the run waits."""
LINGER = 0.005
"""Seconds that a plan waits for company."""


class Behind:
    """The plans that wait.

    After the first error nothing more is written, so that what is stored stays a prefix of what
    happened; the error is raised once, when the run next has to do with its storage.
    """

    def __init__(self, saver: PlanRunner) -> None:
        self._saver = saver
        self._plans: deque[Plan[Any]] = deque()
        self._asked = False
        """Whether somebody will come by for them."""
        self._error: BaseException | None = None
        """The error that nobody has been told yet."""
        self._failed = False

    def _take(self) -> list[Plan[Any]]:
        """What waits, and is still to be written."""
        self._asked = False  # before the look: who adds a plan after it asks again
        plans = [self._plans.popleft() for _ in range(len(self._plans))]
        return [] if self._failed else plans

    def _and(self, plan: Plan[Any]) -> Plan[Any]:
        """What waits, and then `plan`."""
        try:
            return (yield from self._saver.join([*self._take(), plan]))
        except BaseException:
            self._failed = True
            raise

    def _fail(self, error: BaseException) -> None:
        self._failed, self._error = True, error

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error


class BackgroundWriter(Behind):
    """Writes behind a sync run: a worker thread does it, or the run where it must wait anyway."""

    def __init__(self, saver: PlanRunner) -> None:
        super().__init__(saver)
        self._turn = Lock()
        """Held by the thread that writes."""

    def put(self, plan: Plan[Any]) -> None:
        """Have a plan written soon."""
        self._raise()
        self._plans.append(plan)
        if len(self._plans) >= MOST:
            self._write()
        elif not self._asked:
            self._asked = True
            workers().call_at(monotonic() + LINGER, (self._write, ()))

    def run(self, plan: Plan[Any]) -> Any:
        """Do a plan after everything put so far; returns what it returns."""
        with self._turn:
            self._raise()
            return self._saver.run(self._and(plan))

    def close(self) -> None:
        """Write what is left."""
        self._write()

    def _write(self) -> None:
        with self._turn:
            plans = self._take()
            if plans:
                try:
                    self._saver.run(self._saver.join(plans))
                except BaseException as error:
                    self._fail(error)
