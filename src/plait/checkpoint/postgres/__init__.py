"""The saver in Postgres: many processes and machines, sync and async, one round trip per commit."""

from __future__ import annotations

from plait.checkpoint.postgres.aio import AsyncPostgresSaver
from plait.checkpoint.postgres.saver import PostgresLog


class PostgresSaver(PostgresLog):
    """Keep checkpoints in a Postgres database. Connections are opened on first use.

    The same object serves sync and async programs; `AsyncPostgresSaver` differs in nothing but
    that its `setup` is awaited. Each call uses a connection of its own, so that threads and tasks
    run side by side. A commit is one statement; no session state is kept, so a transaction pooler
    (PgBouncer and the like) may stand in between. A call whose connection breaks is done once more
    on another.

    Args:
        conn: A connection string; or a pool or a connection of psycopg 3's, which you close
            yourself (a pool is better: a connection does one call at a time).
        pipe: Accepted for programs that give one: commits are one round trip without it.
        serde: The serializer (None: plait's codec).
        max_connections: How many connections to open at most, where `conn` is a string.
        timeout: Seconds to wait for a free connection, and for a server that restarts.
        thread_busy: What a run does when another one owns its thread: "reject", "wait",
            "takeover" or "allow".
    """

    def setup(self) -> None:
        """Bring the schema up to date now, instead of on first use. Safe to call at any time."""
        self._database.set_up()

    async def asetup(self) -> None:
        """Like `setup`, without blocking the event loop."""
        await self._database.aset_up()


__all__ = ["AsyncPostgresSaver", "PostgresSaver"]
