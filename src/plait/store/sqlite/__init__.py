"""The store in a SQLite file: safe from many threads and many processes, sync and async."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import Future

from plait.sqlite import Synchronous
from plait.store.base import IndexConfig, TTLConfig
from plait.store.base.sweeper import Sweeper
from plait.store.sqlite.aio import AsyncSqliteStore
from plait.store.sqlite.store import SqliteItems


class SqliteStore(SqliteItems):
    """Keep items in a SQLite database. It is opened on first use.

    The same object serves sync and async programs. Searches without a query find items newest
    first. Values are whatever plait can store (`plait.checkpoint.serde`), and come back as they
    were.

    Args:
        conn: A path, a `file:` URI or ":memory:"; or an open connection, made with
            `check_same_thread=False`, that you close yourself. Threads (`SqliteSaver`) may live in
            the same file.
        index: How to embed items, for searches by similarity (None: no such searches). With
            sqlite-vec or numpy (the extra `vectors`) they are much faster.
        ttl: How long items live.
        synchronous: "NORMAL" (default): a put survives the death of the process; "FULL": also a
            loss of power.
        timeout: Seconds to wait for other writers.

    >>> with SqliteStore.from_conn_string(":memory:") as store:
    ...     store.put(("users", "ada"), "likes", {"drink": "tea"})
    ...     store.get(("users", "ada"), "likes").value
    {'drink': 'tea'}
    """

    def __init__(
        self,
        conn: str | os.PathLike[str] | sqlite3.Connection,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        synchronous: Synchronous = "NORMAL",
        timeout: float = 30.0,
    ) -> None:
        super().__init__(conn, index=index, ttl=ttl, synchronous=synchronous, timeout=timeout)
        self._sweeper = Sweeper(self._sweep)

    def setup(self) -> None:
        """Open the database and bring its schema up to date now, instead of on first use."""
        self._open()

    def sweep_ttl(self) -> int:
        """Delete the items that have expired.

        Returns:
            How many they were.
        """
        return self._sweep()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep every so often, on a thread, until it is stopped or the store closed.

        Args:
            sweep_interval_minutes: How often (None: as the store is configured, else every 5).

        Returns:
            A future that is done when the sweeper has ended; at once for a store without a `ttl`.
        """
        seconds = self._sweep_seconds(sweep_interval_minutes)
        if seconds is None:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        return self._sweeper.start(seconds)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the sweeper.

        Returns:
            Whether it has ended within `timeout` seconds (None: however long it takes).
        """
        return self._sweeper.stop(timeout)

    def close(self) -> None:
        """Close the database, after the calls in flight; end the sweeper."""
        self._sweeper.stop()
        super().close()


__all__ = ["AsyncSqliteStore", "SqliteStore"]
