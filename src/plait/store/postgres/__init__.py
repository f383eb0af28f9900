"""The store in Postgres: many processes and machines, sync and async."""

from __future__ import annotations

from plait.store.base.maintained import Swept
from plait.store.postgres.aio import AsyncPostgresStore
from plait.store.postgres.store import PostgresItems


class PostgresStore(Swept, PostgresItems):
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

    def setup(self) -> None:
        """Bring the schema up to date now, instead of on first use. Safe to call at any time."""
        self._database.set_up()


__all__ = ["AsyncPostgresStore", "PostgresStore"]
