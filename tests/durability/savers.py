"""Savers that die, fail or stall at the nth storage request."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Lock
from typing import Any

from plait.checkpoint.log.keys import unpack
from plait.checkpoint.log.requests import Done, Transact
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver

from .workflow import Journal


class CrashingSaver(SqliteSaver):
    """Kills its own process before or after the nth storage request (0: never).

    What it stored of tasks it tells the journal, after the storage has confirmed it.
    """

    def __init__(self, path: Path, journal: Journal, point: int = 0, when: str = "") -> None:
        super().__init__(path)
        self._journal = journal
        self._point = point
        self._when = when
        self._calls = 0
        self._counting = Lock()

    def execute(self, request: Any) -> Any:
        """Do a request, unless death comes first."""
        with self._counting:
            self._calls += 1
            here = self._calls == self._point
        if here and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = super().execute(request)
        if type(request) is Transact and type(answer) is Done:
            for _, task, _, _ in request.writes:
                self._journal.add("stored", unpack(task))
        if here and self._when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


class Failure(OSError):
    """What a faulty saver raises: an error that plait does not know."""


def faulty(base: type[Any]) -> type[Any]:
    """A saver class whose nth request fails, before or after it took effect."""

    class FaultySaver(base):
        point = 0
        when = "before"
        calls = 0
        raised = False

        def execute(self, request: Any) -> Any:
            """Do a request, or fail."""
            self.calls += 1
            here = self.calls == self.point
            if here and self.when == "before":
                self.raised = True
                raise Failure(f"storage request {self.point} failed before it was done")
            answer = super().execute(request)
            if here:
                self.raised = True
                raise Failure(f"storage request {self.point} failed after it was done")
            return answer

    return FaultySaver


FaultySqliteSaver = faulty(SqliteSaver)


class FaultyMemorySaver(faulty(InMemorySaver)):
    """In memory, where the async twin of `execute` is not a call of it."""

    async def aexecute(self, request: Any) -> Any:
        """Do a request, or fail."""
        return self.execute(request)


class ShortLease(SqliteSaver):
    """Claims that last a moment unless renewed."""

    lease = 0.4

    def open_session(self, thread_id: str, ns: str = "", **options: Any) -> Any:
        """A session whose lease is short."""
        return super().open_session(thread_id, ns, **{**options, "lease": self.lease})
