"""What the two names of the SQLite store have in common: everything but how they are maintained."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from time import time
from typing import Self

from plait.checkpoint.serde import Codec
from plait.sqlite import Database, Synchronous, Worker, in_transaction
from plait.store.base import IndexConfig, Op, Result, TTLConfig
from plait.store.base.batches import Batch
from plait.store.base.maintained import Kept
from plait.store.sqlite.rows import SCHEMA, Reader, refresh, sweep, write


class SqliteItems(Kept):
    """Items in a SQLite database, read and written by sync and by async methods alike."""

    def __init__(
        self,
        conn: str | os.PathLike[str] | sqlite3.Connection,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        synchronous: Synchronous = "NORMAL",
        timeout: float = 30.0,
    ) -> None:
        super().__init__(index, ttl)
        self._database = Database(conn, SCHEMA, synchronous=synchronous, timeout=timeout)
        self._worker = Worker("plait-store")
        self._codec = Codec()

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        synchronous: Synchronous = "NORMAL",
        timeout: float = 30.0,
    ) -> Self:
        """A store for `with` and `async with`, which close it at their end.

        Args:
            conn_string: A path, a `file:` URI or ":memory:".
            index: How to embed items.
            ttl: How long items live.
            synchronous: "NORMAL", "FULL" or "OFF".
            timeout: Seconds to wait for other writers.
        """
        return cls(conn_string, index=index, ttl=ttl, synchronous=synchronous, timeout=timeout)

    def close(self) -> None:
        """Close the database, after the calls in flight."""
        self._worker.close()
        self._database.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations: the reads see what was there before, then the puts apply, all or none."""
        batch = Batch(ops, self._index)
        batch.embed()
        return self._do_all(batch)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `batch`, on the database's own thread."""
        batch = Batch(ops, self._index)
        await batch.aembed()
        return await self._worker.call(lambda: self._do_all(batch))

    def _do_all(self, batch: Batch) -> list[Result]:
        now = time()
        past = now if (self.ttl_config or {}).get("omit_expired", False) else None

        def reads(conn: sqlite3.Connection) -> tuple[list[Result], list[int]]:
            reader = Reader(conn, batch, self._codec, past)
            return reader.read(batch.ops), reader.touched

        def reads_together(conn: sqlite3.Connection) -> tuple[list[Result], list[int]]:
            return in_transaction(conn, reads, "BEGIN") if not conn.in_transaction else reads(conn)

        def writes(conn: sqlite3.Connection) -> list[Result]:
            results, touched = reads(conn)
            if touched:
                refresh(conn, touched, now)
            write(conn, batch.puts, self._codec, now)
            return results

        if batch.puts:
            return self._database.transact(writes)
        # Several reads see one moment; and each would open a transaction of its own.
        results, touched = self._database.run(reads_together if len(batch.ops) > 1 else reads)
        if touched:
            self._database.transact(lambda conn: refresh(conn, touched, now))
        return results

    def _open(self) -> None:
        self._database.run(lambda conn: None)

    def _sweep(self) -> int:
        return self._database.transact(lambda conn: sweep(conn, time()))

    async def _asweep(self) -> int:
        return await self._worker.call(self._sweep)
