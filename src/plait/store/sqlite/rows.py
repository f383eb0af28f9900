"""The store's operations in SQL, over an open connection.

The text of each statement is constant (queries.sql). Filters are judged on the decoded values, row
by row as they come, by the same code as in memory (`plait.store.base.filters`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

from plait.checkpoint.serde import Codec, peek, place, seal, unseal
from plait.errors import StorageError
from plait.sqlite import Schema, Statements, fetch
from plait.store.base import GetOp, Item, ListNamespacesOp, Op, Result, SearchItem, SearchOp
from plait.store.base.batches import Batch, Put
from plait.store.base.filters import judge_of
from plait.store.base.items import AnyItem, Namespace, filled
from plait.store.base.namespaces import enough, listing, literal_prefix, packed, unpacked
from plait.store.base.vectors import best_scores
from plait.store.sqlite.extension import has_extension
from plait.store.sqlite.sieve import sieve_of, sifted

SQL = Statements("plait.store.sqlite")
SCHEMA = Schema("plait.store.sqlite", "store")

ITEM = 48
"""The kind of a sealed record that holds the value of an item."""
_HEAD = seal(ITEM, b"", b"")[:5]
"""How the record of a value begins, when it is neither encrypted nor compressed."""
_DIGEST = len(seal(ITEM, b"", b"")) - len(_HEAD)
_ABOVE = b"\xff"
"""Greater than any byte of a label: prefix + _ABOVE ends what lies below the prefix."""

_Row: TypeAlias = tuple[int, bytes, str, bytes, float, float, float | None, float | None]
"""id, namespace, key, value, created, updated, ttl, score."""


class Reader:
    """Reads the operations of one batch.

    Args:
        conn: The connection.
        batch: The batch: its queries are embedded already.
        codec: What values were encoded by.
        now: Pass over what had expired then (None: read it, too).
    """

    def __init__(
        self, conn: sqlite3.Connection, batch: Batch, codec: Codec, now: float | None
    ) -> None:
        self._conn = conn
        self._cursor = conn.cursor()
        self._cursor.row_factory = None
        self._batch = batch
        self._codec = codec
        self._now = now
        self.touched: list[int] = []
        """Items that were read, and whose time to live begins anew."""

    def read(self, op: Op) -> Result:
        """What one operation finds; None for a put."""
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            low, high = _bounds(literal_prefix(op))
            rows = fetch(self._conn, SQL.list_namespaces, low, high, enough(op))
            return listing(op, [unpacked(name) for (name,) in rows])
        return None

    def _get(self, op: GetOp) -> Item | None:
        where = (packed(op.namespace), op.key, self._now)
        rows = self._cursor.execute(SQL.get, where).fetchall()
        if not rows:
            return None
        row: _Row = rows[0]
        if row[6] is not None:
            self._touch(row, op.refresh_ttl)
        return self._filled(_new(Item), row, self._value(row), op.namespace)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found: list[SearchItem] = []
        for row, value in self._passing(op):
            if row[6] is not None:
                self._touch(row, op.refresh_ttl)
            item = self._filled(_new(SearchItem), row, value, unpacked(row[1]))
            item.score = row[7]
            found.append(item)
        return found

    def _passing(self, op: SearchOp) -> Iterator[tuple[_Row, dict[str, Any]]]:
        """The rows of a search, in order, its filter and page applied."""
        judge = judge_of(op.filter)
        if judge is None:
            with closing(self._rows(op, max(op.limit, -1), op.offset)) as rows:
                for row in rows:
                    yield row, self._value(row)
            return
        loads = self._codec.loads
        end = op.offset + op.limit if op.limit >= 0 else None
        with closing(self._rows(op, -1, 0)) as rows:
            met = ((row, value) for row in rows if judge(value := loads(peek(row[3]))))
            for row, value in islice(met, op.offset, end):
                unseal(_place(row[1], row[2]), row[3])  # what is handed out is proved whole
                yield row, value

    def _rows(self, op: SearchOp, limit: int, offset: int) -> sqlite3.Cursor:
        where = (*_bounds(op.namespace_prefix), self._now)
        cursor = self._conn.cursor()
        cursor.row_factory = None
        query = self._batch.queries.get(op.query or "")
        if query is None:
            pattern = sieve_of(op.filter, _HEAD, _DIGEST)
            if pattern is None:
                return cursor.execute(SQL.search, (*where, limit, offset))
            values = (*where, pattern)
            return sifted(self._conn, lambda: cursor.execute(SQL.search_sifted, values))
        if has_extension(self._conn, SQL.extension_version):
            try:
                return cursor.execute(SQL.search_by_extension, (*where, limit, offset, query))
            except sqlite3.OperationalError:
                pass  # vectors of several lengths: best_scores says so in our words
        scores = best_scores(query, fetch(self._conn, SQL.search_vectors, *where))
        return cursor.execute(
            SQL.search_scored, (*where, limit, offset, json.dumps(list(scores.items())))
        )

    def _touch(self, row: _Row, refreshes: bool) -> None:
        if refreshes:
            self.touched.append(row[0])

    def _value(self, row: _Row) -> dict[str, Any]:
        _, payload = unseal(_place(row[1], row[2]), row[3])
        return self._codec.loads(payload)

    @staticmethod
    def _filled(item: AnyItem, row: _Row, value: dict[str, Any], namespace: Namespace) -> AnyItem:
        created = _moment(row[4])
        updated = created if row[5] == row[4] else _moment(row[5])
        return filled(item, value, row[2], namespace, created, updated)


def write(
    conn: sqlite3.Connection, namespace: Namespace, key: str, put: Put, codec: Codec, now: float
) -> None:
    """Put or delete one item, inside a transaction."""
    where = (packed(namespace), key)
    conn.execute(SQL.drop_vectors, where)
    if put.value is None:
        conn.execute(SQL.drop, where)
        return
    try:
        record = seal(ITEM, _place(*where), codec.dumps(put.value))
    except StorageError as error:
        error.add_note(f"It is in the value to be put under {key!r} of {namespace!r}.")
        raise
    expires = now + put.ttl * 60.0 if put.ttl is not None else None
    conn.execute(SQL.put, (*where, record, now, put.ttl, expires))
    if put.vectors:
        conn.executemany(SQL.put_vector, [(*where, vector) for vector in put.vectors])


def refresh(conn: sqlite3.Connection, ids: list[int], now: float) -> None:
    """Begin the times to live of items anew, inside a transaction."""
    conn.execute(SQL.refresh, (now, json.dumps(ids)))


def sweep(conn: sqlite3.Connection, now: float) -> int:
    """Delete what has expired, inside a transaction; how much it was."""
    conn.execute(SQL.sweep_vectors, (now,))
    return conn.execute(SQL.sweep, (now,)).rowcount


def _bounds(prefix: Namespace) -> tuple[bytes, bytes]:
    low = packed(prefix)
    return low, low + _ABOVE


def _place(namespace: bytes, key: str) -> bytes:
    return _place_of(namespace) + place(key)


@lru_cache(maxsize=1024)
def _place_of(namespace: bytes) -> bytes:
    return place("item", namespace.decode("utf-8"))


def _moment(seconds: float) -> datetime:
    return _from_timestamp(seconds, UTC)


_from_timestamp = datetime.fromtimestamp
_new = object.__new__
