"""The store in a SQLite file: safe from many threads and many processes, sync and async."""

from __future__ import annotations

from plait.store.base.maintained import Swept
from plait.store.sqlite.aio import AsyncSqliteStore
from plait.store.sqlite.store import SqliteItems


class SqliteStore(Swept, SqliteItems):
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

    def setup(self) -> None:
        """Open the database and bring its schema up to date now, instead of on first use."""
        self._open()


__all__ = ["AsyncSqliteStore", "SqliteStore"]
