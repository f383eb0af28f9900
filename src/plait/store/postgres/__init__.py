"""The store in Postgres: many processes and machines, sync and async."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from plait.postgres import Target
from plait.store.base import IndexConfig, TTLConfig
from plait.store.base.sweeper import Sweeper
from plait.store.postgres.aio import AsyncPostgresStore
from plait.store.postgres.rows import sweep
from plait.store.postgres.store import PostgresItems


class PostgresStore(PostgresItems):
    """Keep items in a Postgres database. Connections are opened on first use.

    The same object serves sync and async programs. Searches without a query find items newest
    first. Values are whatever plait can store (`plait.checkpoint.serde`), and come back as they
    were. Times are those of the server.

    Args:
        conn: A connection string; or a pool or a connection of psycopg 3's, which you close
            yourself. Threads (`PostgresSaver`) may live in the same database.
        pipe: Accepted for programs that give one: puts are one round trip without it.
        index: How to embed items, for searches by similarity (None: no such searches). The server
            compares vectors where pgvector is installed or may be; else plait does.
        ttl: How long items live.
        max_connections: How many connections to open at most, where `conn` is a string.
        timeout: Seconds to wait for a free connection, and for a server that restarts.
    """

    def __init__(
        self,
        conn: Target,
        *,
        pipe: Any = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        max_connections: int = 10,
        timeout: float = 30.0,
    ) -> None:
        super().__init__(
            conn, index=index, ttl=ttl, max_connections=max_connections, timeout=timeout
        )
        self._sweeper = Sweeper(lambda: self._database.run(sweep))

    def setup(self) -> None:
        """Bring the schema up to date now, instead of on first use. Safe to call at any time."""
        self._database.set_up()

    def sweep_ttl(self) -> int:
        """Delete the items that have expired.

        Returns:
            How many they were.
        """
        return self._database.run(sweep)

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
        """Close the connections, after the calls in flight; end the sweeper."""
        self._sweeper.stop()
        super().close()


__all__ = ["AsyncPostgresStore", "PostgresStore"]
