"""Writes behind a running run (`durability="async"`): in order, a few milliseconds late at most.

Plans that come in quick succession are written together, in one transaction: a run of short steps
pays for one now and then. A step that takes longer finds those before it written.

A nested run has plans of its own. Before its first is written, those are that the run around it had
put before: what is stored of both is a prefix of what happened.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from time import monotonic
from typing import Any

from plait.checkpoint.base.port import Plan
from plait.drivers.base import Storage
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

    def __init__(self, storage: Storage) -> None:
        self._saver = storage.saver
        self._around: Behind | None = storage.around.behind if storage.around is not None else None
        """What must be written first: nothing any more, once it is."""
        storage.behind = self
        self._plans: deque[Plan[Any]] = deque()
        self._taking = Lock()
        self._asked = False
        """Whether somebody will come by for them."""
        self._error: BaseException | None = None
        """The error that nobody has been told yet."""
        self._failed = False

    def _take(self) -> list[Plan[Any]]:
        """What waits, and is still to be written."""
        self._asked = False  # before the look: who adds a plan after it asks again
        with self._taking:
            plans = [*self._plans]
            self._plans.clear()
        return [] if self._failed else plans

    def _and(self, plan: Plan[Any]) -> Plan[Any]:
        """What waits, and then `plan`."""
        try:
            return (yield from self._saver.join([*self._take(), plan]))
        except BaseException:
            self._failed = True
            raise

    def settle(self) -> None:
        """Write what waits, and wait for what is being written; called by a run inside."""
        raise NotImplementedError

    def _heed(self, around: Behind) -> None:
        """Store nothing where what the run around put before was not stored; its error is told
        to both."""
        if around._failed:
            self._failed = True
            if around._error is not None:
                raise around._error

    def _fail(self, error: BaseException) -> None:
        self._failed, self._error = True, error

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error


class BackgroundWriter(Behind):
    """Writes behind a sync run: a worker thread does it, or the run where it must wait anyway."""

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
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
            self._settle_around()
            return self._saver.run(self._and(plan))

    def close(self) -> None:
        """Write what is left."""
        self._write()

    def settle(self) -> None:
        """Write what waits, and wait for what is being written; called by a run inside."""
        self._write()

    def _settle_around(self) -> None:
        around, self._around = self._around, None
        if around is not None:
            around.settle()
            self._heed(around)

    def _write(self) -> None:
        with self._turn:
            plans = self._take()
            if plans:
                try:
                    self._settle_around()
                    self._saver.run(self._saver.join(plans))
                except BaseException as error:
                    self._fail(error)
