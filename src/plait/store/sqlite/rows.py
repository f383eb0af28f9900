"""The store's operations in SQL, over an open connection.

The text of each statement is constant (queries.sql). Filters are judged on the decoded values, row
by row as they come, by the same code as in memory (`plait.store.base.filters`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeAlias, cast

from plait.checkpoint.serde import Codec, peek, place, seal, unseal, unseal_each
from plait.errors import StorageError
from plait.sqlite import Schema, Statements, fetch
from plait.store.base import GetOp, Item, ListNamespacesOp, Op, Result, SearchItem, SearchOp
from plait.store.base.batches import Batch, Place, Put
from plait.store.base.filters import judge_of
from plait.store.base.items import AnyItem, Namespace, filled
from plait.store.base.namespaces import enough, known, listing, literal_prefix, packed, unpacked
from plait.store.base.vectors import best_scores
from plait.store.sqlite.extension import has_extension
from plait.store.sqlite.sieve import sifted, sifting

SQL = Statements("plait.store.sqlite")
SCHEMA = Schema("plait.store.sqlite", "store")

ITEM = 48
"""The kind of a sealed record that holds the value of an item."""
_HEAD = seal(ITEM, b"", b"")[:5]
"""How the record of a value begins, when it is neither encrypted nor compressed."""
_DIGEST = len(seal(ITEM, b"", b"")) - len(_HEAD)
_KEYS = 32
"""How many items of a namespace `get_some` reads."""
_TOGETHER = 64
"""How many values are decoded at a time."""
_ABOVE = b"\xff"
"""Greater than any byte of a label: prefix + _ABOVE ends what lies below the prefix."""

_Row: TypeAlias = tuple[int, bytes, str, bytes, float, float, float | None, float | None]
"""id, namespace, key, value, created, updated, ttl, score."""
_Get: TypeAlias = tuple[int, GetOp]
"""A get, and its number among the operations."""


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

    def read(self, ops: Sequence[Op]) -> list[Result]:
        """What each operation finds; None for a put."""
        if len(ops) == 1 and isinstance(op := ops[0], GetOp):
            return [self._item(op, row, self._value(row)) for row in self._row(op)] or [None]
        results: list[Result] = [None] * len(ops)
        gets: dict[bytes, list[_Get]] = {}
        for number, op in enumerate(ops):
            if isinstance(op, GetOp):
                gets.setdefault(packed(op.namespace), []).append((number, op))
        if gets:
            self._gets(gets, results)
        for number, op in enumerate(ops):
            if isinstance(op, SearchOp):
                results[number] = self._search(op)
            elif isinstance(op, ListNamespacesOp):
                where = (*_bounds(literal_prefix(op)), self._now)
                rows = fetch(self._conn, SQL.list_namespaces, *where, enough(op))
                results[number] = listing(op, [unpacked(name) for (name,) in rows])
        return results

    def _gets(self, gets: Mapping[bytes, Sequence[_Get]], results: list[Result]) -> None:
        """Put what is found of several items, by their namespaces, into the results."""
        there: list[tuple[int, GetOp, _Row]] = []
        for namespace, asked in gets.items():
            keys = [op.key for _, op in asked]
            rows: dict[str, _Row] = {}
            for first in range(0, len(keys), _KEYS):
                some = keys[first : first + _KEYS]
                some += some[-1:] * (_KEYS - len(some))
                found = self._cursor.execute(SQL.get_some, (namespace, *some, self._now))
                rows.update([(row[2], row) for row in found.fetchall()])
            there += [(number, op, rows[op.key]) for number, op in asked if op.key in rows]
        values = self._values([row for _, _, row in there])
        for (number, op, row), value in zip(there, values, strict=True):
            results[number] = self._item(op, row, value)

    def _row(self, op: GetOp) -> list[_Row]:
        where = (packed(op.namespace), op.key, self._now)
        return self._cursor.execute(SQL.get, where).fetchall()

    def _item(self, op: GetOp, row: _Row, value: dict[str, Any]) -> Item:
        if row[6] is not None:
            self._touch(row, op.refresh_ttl)
        return self._filled(_new(Item), row, value, op.namespace)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found: list[SearchItem] = []
        for row, value in self._passing(op):
            if row[6] is not None:
                self._touch(row, op.refresh_ttl)
            item = self._filled(_new(SearchItem), row, value, known(row[1]))
            item.score = row[7]
            found.append(item)
        return found

    def _passing(self, op: SearchOp) -> Iterable[tuple[_Row, dict[str, Any]]]:
        """The rows of a search and their values, in order, its filter and page applied."""
        judge = judge_of(op.filter)
        if judge is None:
            with closing(self._rows(op, max(op.limit, -1), op.offset)) as found:
                rows = found.fetchall()
            return zip(rows, self._values(rows), strict=True)
        end = op.offset + op.limit if op.limit >= 0 else None
        size = _TOGETHER if end is None else max(8, min(2 * end, _TOGETHER))
        met: list[tuple[_Row, dict[str, Any]]] = []
        with (
            sifting(op.filter, _HEAD, _DIGEST) as sieve,
            closing(self._rows(op, -1, 0, sieve)) as found,
        ):
            while (end is None or len(met) < end) and (some := found.fetchmany(size)):
                pairs = zip(some, self._peeked(some), strict=False)
                met += [pair for pair in pairs if judge(pair[1])]
        met = met[op.offset : end]
        self._payloads([row for row, _ in met])  # what was only peeked at is proved whole
        return met

    def _peeked(self, rows: Sequence[_Row]) -> Iterable[dict[str, Any]]:
        """The values of rows, not proved whole."""
        loads = self._codec.loads
        try:
            return self._codec.loads_together([peek(row[3]) for row in rows])
        except StorageError:  # whoever comes to the damaged one is told
            return (loads(peek(row[3])) for row in rows)

    def _rows(
        self, op: SearchOp, limit: int, offset: int, sieve: int | None = None
    ) -> sqlite3.Cursor:
        """The rows of a search; `sieve` is the number of what they are sifted by, if they are."""
        where = (*_bounds(op.namespace_prefix), self._now)
        cursor = self._conn.cursor()
        cursor.row_factory = None
        query = self._batch.queries.get(op.query or "")
        if query is None:
            if sieve is None:
                return cursor.execute(SQL.search, (*where, limit, offset))
            values = (*where, sieve)
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
        return self._codec.loads(unseal(_place(row[1], row[2]), row[3])[1])

    def _values(self, rows: Sequence[_Row]) -> list[dict[str, Any]]:
        """The values of rows, proved whole."""
        values: list[dict[str, Any]] = []
        for first in range(0, len(rows), _TOGETHER):
            some = rows[first : first + _TOGETHER]
            values += self._codec.loads_together(self._payloads(some))
        return values

    @staticmethod
    def _payloads(rows: Sequence[_Row]) -> list[bytes]:
        """The packed values of rows, proved whole."""
        places = [_place_of(row[1]) + place(row[2]) for row in rows]
        payloads = unseal_each(ITEM, places, [row[3] for row in rows])
        for at, payload in enumerate(payloads):
            if payload is None:  # damaged: this says how
                payloads[at] = unseal(places[at], rows[at][3])[1]
        return cast("list[bytes]", payloads)

    @staticmethod
    def _filled(item: AnyItem, row: _Row, value: dict[str, Any], namespace: Namespace) -> AnyItem:
        created = updated = _from_timestamp(row[4], UTC)
        if row[5] != row[4]:
            updated = _from_timestamp(row[5], UTC)
        return filled(item, value, row[2], namespace, created, updated)


def write(conn: sqlite3.Connection, puts: Mapping[Place, Put], codec: Codec, now: float) -> None:
    """Put and delete items, inside a transaction."""
    places = [(packed(namespace), key) for namespace, key in puts]
    if fetch(conn, SQL.any_vector):
        conn.executemany(SQL.drop_vectors, places)
    gone: list[tuple[bytes, str]] = []
    rows: list[tuple[Any, ...]] = []
    vectors: list[tuple[bytes, str, bytes]] = []
    for where, put in zip(places, puts.values(), strict=True):
        if put.value is None:
            gone.append(where)
            continue
        try:
            record = seal(ITEM, _place(*where), codec.dumps(put.value))
        except StorageError as error:
            namespace = unpacked(where[0])
            error.add_note(f"It is in the value to be put under {where[1]!r} of {namespace!r}.")
            raise
        expires = now + put.ttl * 60.0 if put.ttl is not None else None
        rows.append((*where, record, now, put.ttl, expires))
        vectors += [(*where, vector) for vector in put.vectors]
    for statement, values in ((SQL.drop, gone), (SQL.put, rows), (SQL.put_vector, vectors)):
        if values:
            conn.executemany(statement, values)


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


_from_timestamp = datetime.fromtimestamp
_new = object.__new__
