"""The cache in a SQLite file: shared by processes, and still there after a restart."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from sqlite3 import Connection

from plait.cache.base import BaseCache, FullKey, Namespace, ValueT
from plait.checkpoint.serde.base import SerializerProtocol
from plait.common.closing import ClosedAtEnd
from plait.sqlite import Database, Schema, Statements, Worker, fetch

_SQL = Statements("plait.cache.sqlite")
_SCHEMA = Schema("plait.cache.sqlite", "cache")


class SqliteCache(BaseCache[ValueT], ClosedAtEnd):
    """Keep values in a SQLite database. It is opened on first use, and may hold threads as well.

    Args:
        path: A path, a `file:` URI or ":memory:".
        serde: how values become bytes (None: plait's codec).
        clock: seconds on the clock by which values expire.

    >>> with SqliteCache(path=":memory:") as cache:
    ...     cache.set({(("double",), "2"): (4, None)})
    ...     cache.get([(("double",), "2"), (("double",), "3")])
    {(('double',), '2'): 4}
    """

    def __init__(
        self,
        *,
        path: str | os.PathLike[str],
        serde: SerializerProtocol | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(serde=serde)
        self._clock = clock
        self._database = Database(path, _SCHEMA, lasting=False)
        self._worker = Worker("plait-sqlite-cache")

    def close(self) -> None:
        """Close the database, after the calls in flight."""
        self._worker.close()
        self._database.close()

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        now = self._clock()

        def read(conn: Connection) -> dict[FullKey, tuple[str, bytes]]:
            found: dict[FullKey, tuple[str, bytes]] = {}
            for ns, key in keys:
                for tag, data in fetch(conn, _SQL.read_value, _text_of(ns), key, now):
                    found[ns, key] = (tag, data)
            return found

        loads = self.serde.loads_typed
        return {full: loads(typed) for full, typed in self._database.run(read).items()}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        return await self._worker.call(lambda: self.get(keys))

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        self._write(self._rows(pairs))

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        rows = self._rows(pairs)  # encoded here: the caller may change the values right after
        await self._worker.call(lambda: self._write(rows))

    def _rows(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> list[tuple[object, ...]]:
        now, dumps = self._clock(), self.serde.dumps_typed
        return [
            (_text_of(ns), key, None if ttl is None else now + ttl, *dumps(value))
            for (ns, key), (value, ttl) in pairs.items()
        ]

    def _write(self, rows: list[tuple[object, ...]]) -> None:
        def write(conn: Connection) -> None:
            conn.execute(_SQL.drop_expired, (self._clock(),))
            conn.executemany(_SQL.write_value, rows)

        if rows:
            self._database.transact(write)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        def drop(conn: Connection) -> None:
            if namespaces is None:
                conn.execute(_SQL.drop_all)
            for ns in namespaces or ():
                conn.execute(_SQL.drop_namespace, (_text(ns),))

        self._database.transact(drop)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        await self._worker.call(lambda: self.clear(namespaces))


def _text(ns: Namespace) -> str:
    """A namespace as one text that no other namespace has."""
    return json.dumps(ns)


_text_of = lru_cache(maxsize=256)(_text)
"""The same, for keys: those of a call mostly have one namespace."""


__all__ = ["SqliteCache"]
