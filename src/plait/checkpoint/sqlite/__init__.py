"""The saver in a SQLite file: safe from many threads and many processes, sync and async."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Coroutine
from functools import partial
from typing import Any

from plait.checkpoint.log.claims import Policy
from plait.checkpoint.log.groups import ThreadGroup
from plait.checkpoint.log.requests import Renew, Together, Transact
from plait.checkpoint.log.saver import NativeSaver
from plait.checkpoint.sqlite.here import Here
from plait.checkpoint.sqlite.rows import ANY, READS, SCHEMA, WRITES, renew, transact_alone
from plait.common.closing import ClosedAtEitherEnd
from plait.sqlite import Database, Synchronous, Worker


class SqliteSaver(NativeSaver, ClosedAtEitherEnd):
    """Keep checkpoints in a SQLite database. It is opened on first use.

    The same object serves sync and async programs (`AsyncSqliteSaver` is another name for it).
    Commits of runs that go on at the same time share transactions (see `log.groups`).

    Args:
        conn: A path, a `file:` URI or ":memory:"; or an open connection, made with
            `check_same_thread=False`, that you close yourself.
        serde: The serializer (None: plait's codec).
        synchronous: "NORMAL" (default): a commit survives the death of the process; "FULL": also
            a loss of power.
        timeout: Seconds to wait for other writers.
        thread_busy: What a run does when another one owns its thread: "reject", "wait",
            "takeover" or "allow".

    >>> with SqliteSaver.from_conn_string(":memory:") as saver:
    ...     saver.get_tuple({"configurable": {"thread_id": "1"}}) is None
    True
    """

    def __init__(
        self,
        conn: str | os.PathLike[str] | sqlite3.Connection,
        *,
        serde: Any = None,
        synchronous: Synchronous = "NORMAL",
        timeout: float = 30.0,
        thread_busy: Policy = "reject",
    ) -> None:
        super().__init__(serde=serde, thread_busy=thread_busy)
        self._database = Database(conn, SCHEMA, synchronous=synchronous, timeout=timeout)
        self._heartbeat: Database | None = None
        self._worker = Worker("plait-sqlite")
        submit = self._worker.submit
        self._here = Here(self._do_on, self._database, submit) if self._database.quick else None
        do = partial(self._do_on, self._database)
        self._group = ThreadGroup(do, submit=submit, here=self._here)

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        serde: Any = None,
        synchronous: Synchronous = "NORMAL",
        timeout: float = 30.0,
        thread_busy: Policy = "reject",
    ) -> SqliteSaver:
        """A saver for `with` and `async with`, which close it at their end.

        Args:
            conn_string: A path, a `file:` URI or ":memory:".
            serde: As for the class, and so are the others.
            synchronous: "NORMAL", "FULL" or "OFF".
            timeout: Seconds to wait for other writers.
            thread_busy: What a run does when another one owns its thread.
        """
        return cls(
            conn_string,
            serde=serde,
            synchronous=synchronous,
            timeout=timeout,
            thread_busy=thread_busy,
        )

    @property
    def shared(self) -> bool:
        """Whether other processes can reach the same rows."""
        return self._database.shared

    @property
    def stepped(self) -> bool:
        """Async calls await nothing but futures."""
        return True

    def renew(self, request: Renew) -> None:
        """Prolong claims on a connection of its own, beside whatever the saver is doing."""
        self._renewer().transact(lambda conn: renew(conn, request))

    def _renewer(self) -> Database:
        if self._heartbeat is None:
            self._database.check()  # or it would open, or make, the file that has the name now
            self._heartbeat = Database(self._database.path, SCHEMA, timeout=5.0)
        return self._heartbeat

    def close(self) -> None:
        """Close the database, after the calls in flight."""
        self._worker.close()
        if self._here is not None:
            self._here.close()
        self._database.close()
        if self._heartbeat is not None:
            self._heartbeat.close()

    def setup(self) -> None:
        """Open the database and bring its schema up to date now, instead of on first use."""
        self._database.open()

    async def asetup(self) -> None:
        """Like `setup`, without blocking the event loop."""
        await self._worker.call(self.setup)

    def execute(self, request: Any) -> Any:
        """Do one storage request (see `plait.checkpoint.log.requests`)."""
        read = READS.get(request.__class__)
        return self._group.do(request) if read is None else self._database.run(read, request)

    def aexecute(self, request: Any) -> Coroutine[Any, Any, Any]:
        """Do one storage request in the loop's thread or in the database's (see `here`)."""
        return self._group.ado(request)

    def _do_on(self, database: Database, request: Any) -> Any:
        kind = request.__class__
        if kind is Transact:
            return database.run(transact_alone, request)
        read = READS.get(kind)
        if read is not None:
            return database.run(read, request)
        if kind is Together:
            parts = [(ANY[each.__class__], each) for each in request.requests]
            return database.transact(lambda conn: [do(conn, each) for do, each in parts])
        write = WRITES[kind]
        return database.transact(lambda conn: write(conn, request))


__all__ = ["SqliteSaver", "Synchronous"]
