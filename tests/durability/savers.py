"""Places for threads that several processes reach, and savers whose requests can be watched.

A `Place` is a new and empty database, a SQLite file or a Postgres schema. Tests that take one say
nothing of which: they run on both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tests.postgres.server import Server

from plait.checkpoint.log.requests import ReadLane
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver

Kind: TypeAlias = Literal["sqlite", "postgres"]
KINDS: tuple[Kind, ...] = ("sqlite", "postgres")


class Place:
    """A database for threads.

    Args:
        target: The file, or the URL.
    """

    def __init__(self, kind: Kind, target: Any) -> None:
        self.kind: Kind = kind
        self.target = target

    def open(self, *mixins: type, **options: Any) -> Any:
        """A saver of it, with what the mixins add; `with` closes it."""
        base = SqliteSaver if self.kind == "sqlite" else PostgresSaver
        cls = type("Opened", (*mixins, base), {}) if mixins else base
        return cls(self.target, **options)

    def owner(self, thread_id: str = "1") -> str | None:
        """Who holds the claim of a thread."""
        with self.open() as saver:
            return saver.execute(ReadLane(thread_id, "")).owner


@contextmanager
def new_place(kind: Kind, folder: Path, server: Server | None = None) -> Iterator[Place]:
    """A new and empty place."""
    if kind == "sqlite":
        yield Place(kind, folder / "log.db")
        return
    assert server is not None
    with server.database() as url:
        yield Place(kind, url)


class AfterReadingWrites:
    """Lets something happen right after a run has read the task writes of its checkpoint."""

    act: Callable[[], Any] | None = None

    def execute(self, request: Any) -> Any:
        answer = super().execute(request)  # type: ignore[misc]
        if type(request).__name__ == "ReadWrites" and self.act is not None:
            act, self.act = self.act, None
            act()
        return answer


class OneWay:
    """Async runs take the way of sync ones, on threads: for savers that watch `execute`."""

    execute: Any

    async def aexecute(self, request: Any) -> Any:
        """Do a request as a thread would."""
        return await asyncio.to_thread(self.execute, request)


class ShortLease(OneWay):
    """Claims that last a moment unless renewed."""

    lease = 0.4

    def open_session(self, thread_id: str, ns: str = "", **options: Any) -> Any:
        """A session whose lease is short."""
        whole: Any = super()
        return whole.open_session(thread_id, ns, **{**options, "lease": self.lease})
