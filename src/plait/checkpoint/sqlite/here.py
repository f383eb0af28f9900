"""Commits in the thread of an event loop: those that are done sooner than another thread is asked.

A commit takes SQLite some tens of microseconds, a hop to a worker thread and back more than that on
the loop's side alone. So requests of event loops are done where they are made, on a connection of
their own that never waits: it gives up at once where somebody else is writing, and never folds in
the log beside the file, which waits for the disk. The worker thread does that from time to time,
and the commit after it, which begins the log anew and waits for the disk once more; and whatever is
more than a small commit; and everything for a while after the disk was slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

from plait.checkpoint.log.groups import NotHere
from plait.checkpoint.log.requests import ReadLane, Together, Transact, parts_of
from plait.errors import StorageUnavailableError
from plait.sqlite import WAL_PAGES, Database
from plait.sqlite.failures import is_busy

_PAGE = 4096
_PAGES = 4
"""Pages that a commit writes whatever it stores: the ends of tables and indexes."""
_ROWS_PER_PAGE = 4
_MISCOUNT = 2
"""How many times too high the count of pages may be held to be, once the log was measured."""
_MOST_BYTES = 256 * 1024
_SLOW = 0.05
"""Seconds that an event loop may stand still for a commit, once."""
_REST = 64
"""Requests that then go to the worker thread."""


class Here:
    """Does requests in the thread of an event loop.

    Args:
        do: Does a request on a database.
        patient: The database that the worker thread uses.
        submit: Runs a function on the worker thread, before what is submitted later.
    """

    def __init__(
        self,
        do: Callable[[Database, Any], Any],
        patient: Database,
        submit: Callable[[Callable[[], None]], None],
    ) -> None:
        self._do = do
        self._patient = patient
        self._submit = submit
        self._database: Database | None = None
        self._asked = self._closed = False
        self._elsewhere = 0
        """Transactions that must go to the worker."""
        self._pages = 0
        """Pages written since the worker could fold the log in, at most about."""
        self._enough: float = WAL_PAGES
        """From how many of these on it folds the log in: as many as fill it."""

    def may(self, request: Any) -> bool:
        """Whether a request is of a kind that is done here."""
        if type(request) is Together:
            return all(map(self.may, request.requests))
        if type(request) is Transact:
            return not (request.drop_checkpoints or request.drop_values)
        return type(request) is ReadLane

    def execute(self, request: Any) -> Any:
        """Do a request, or several `Together`.

        Raises:
            NotHere: The worker must do it; nothing was done.
        """
        writes = [each for each in parts_of(request) if type(each) is Transact]
        database = self._database
        if database is None:
            if writes and not self._asked:
                self._asked = True
                self._submit(self._set_up)
            raise NotHere
        if writes:
            self._count(writes)
        began = perf_counter()
        try:
            return self._do(database, request)
        except StorageUnavailableError as error:
            if is_busy(error.__cause__):
                raise NotHere from error
            raise
        finally:
            if perf_counter() - began > _SLOW:
                self._elsewhere = _REST

    def close(self) -> None:
        """Close the connection."""
        self._asked = self._closed = True
        if self._database is not None:
            self._database.close()

    def _set_up(self) -> None:
        opened = self._database = self._patient.impatient()
        if self._closed and opened is not None:
            opened.close()

    def _count(self, writes: Sequence[Transact]) -> None:
        """Take note of what is about to be written, or leave it to the worker."""
        if self._elsewhere > 0:
            self._elsewhere -= 1
            raise NotHere
        sizes = [
            len(row[-1])
            for each in writes
            for part in (each.checkpoints, each.values, each.writes)
            for row in part
        ]
        size = sum(sizes)
        if size > _MOST_BYTES:
            raise NotHere
        self._pages += _PAGES + len(sizes) // _ROWS_PER_PAGE + size // _PAGE
        if self._pages > self._enough:
            self._submit(partial(self._fold, self._pages))
            self._pages = 0
            raise NotHere

    def _fold(self, counted: int) -> None:
        """Fold the log in (on the worker thread), and learn how many pages it has for `counted`."""
        found = max(1, self._patient.fold())
        self._enough = WAL_PAGES * min(max(counted / found, 1), _MISCOUNT)


__all__ = ["Here"]
