"""What the two names of the Postgres store share: everything but how they are maintained."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Self

from plait.checkpoint.serde import Codec
from plait.errors import StorageError
from plait.postgres import Database, Steps, Target
from plait.store.base import IndexConfig, Op, PutOp, Result, TTLConfig
from plait.store.base.batches import Batch
from plait.store.base.maintained import Kept
from plait.store.base.vectors import Distance, distance_of
from plait.store.postgres.rows import (
    SCHEMA,
    Reader,
    has_pgvector,
    make_pgvector,
    refresh,
    sweep,
    writer,
)


class PostgresItems(Kept):
    """Items in a Postgres database, read and written by sync and by async methods alike."""

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
        super().__init__(index, ttl)
        self._database = Database(conn, SCHEMA, max_connections=max_connections, timeout=timeout)
        self._codec = Codec()
        self._pgvector: bool | None = None
        self._distance: Distance = distance_of(index)

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        pool_config: dict[str, Any] | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        max_connections: int = 10,
        timeout: float = 30.0,
    ) -> Self:
        """A store for `with` and `async with`, which close it at their end.

        Args:
            conn_string: The database, as a URL or as `host=... dbname=...`.
            pipeline: Accepted for programs that give it: puts are one round trip without it.
            pool_config: Its `max_size`, if it has one, is `max_connections`.
            index: How to embed items.
            ttl: How long items live.
            max_connections: How many connections to open at most.
            timeout: Seconds to wait for a free connection, and for a server that restarts.
        """
        size = (pool_config or {}).get("max_size") or max_connections
        return cls(conn_string, index=index, ttl=ttl, max_connections=size, timeout=timeout)

    def close(self) -> None:
        """Close the connections, after the calls in flight."""
        self._database.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations: the reads see what was there before, then the puts apply, all or none."""
        batch = Batch(ops, self._index)
        batch.embed()
        if batch.queries and self._pgvector is None:
            self._pgvector = self._find_pgvector()
        if not batch.ops:
            return []
        work, together = self._work(batch)
        results, touched = self._database.run(work, together=together)
        if touched:
            self._database.run(lambda: refresh(touched))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `batch`, without blocking the event loop."""
        batch = Batch(ops, self._index)
        await batch.aembed()
        if batch.queries and self._pgvector is None:
            self._pgvector = await self._afind_pgvector()
        if not batch.ops:
            return []
        work, together = self._work(batch)
        results, touched = await self._database.arun(work, together=together)
        if touched:
            await self._database.arun(lambda: refresh(touched))
        return results

    def _work(
        self, batch: Batch
    ) -> tuple[Callable[[], Steps[tuple[list[Result], list[int]]]], bool]:
        """Makes the steps of a batch; and whether they must be one transaction."""
        omit = (self.ttl_config or {}).get("omit_expired", False)
        puts = writer(batch, self._codec) if batch.puts else None
        reads = not all(isinstance(op, PutOp) for op in batch.ops)

        def steps() -> Steps[tuple[list[Result], list[int]]]:
            reader = Reader(batch, self._codec, omit, bool(self._pgvector), self._distance)
            results: list[Result] = []
            for op in batch.ops:
                results.append((yield from reader.read(op)))
            if puts is not None:
                yield from puts()
            return results, reader.touched

        return steps, reads and puts is not None

    def _find_pgvector(self) -> bool:
        """Whether the server compares vectors; pgvector is added where it can be."""
        installed, available = self._database.run(has_pgvector)
        if installed or not available:
            return installed
        with suppress(StorageError):  # this role may not, or another process just did
            self._database.run(make_pgvector)
        return self._database.run(has_pgvector)[0]  # it may be in a schema out of reach

    async def _afind_pgvector(self) -> bool:
        installed, available = await self._database.arun(has_pgvector)
        if installed or not available:
            return installed
        with suppress(StorageError):  # as in the sync twin
            await self._database.arun(make_pgvector)
        return (await self._database.arun(has_pgvector))[0]

    def _sweep(self) -> int:
        return self._database.run(sweep)

    async def _asweep(self) -> int:
        return await self._database.arun(sweep)
