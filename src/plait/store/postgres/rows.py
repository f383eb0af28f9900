"""The store's operations in SQL, as steps.

The text of each statement is constant (queries.sql). Filters are judged on the decoded values, a
page of rows at a time, by the same code as in memory (`plait.store.base.filters`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from math import inf, isfinite
from typing import Any, TypeAlias

from plait.checkpoint.serde import Codec, peek, place, seal, unseal
from plait.common.sql import Statements
from plait.errors import StorageError
from plait.postgres import (
    Schema,
    Steps,
    bytes_array,
    float_array,
    from_text,
    int_array,
    text_array,
    to_text,
)
from plait.store.base import GetOp, Item, ListNamespacesOp, Op, Result, SearchItem, SearchOp
from plait.store.base.batches import Batch
from plait.store.base.filters import Judge, judge_of
from plait.store.base.namespaces import known, listing, literal_prefix, packed, unpacked
from plait.store.base.vectors import Distance, best_scores, pack, unpack

SQL = Statements("plait.store.postgres")
SCHEMA = Schema("plait.store.postgres", "store")

ITEM = 48
"""The kind of a sealed record that holds the value of an item."""
_ABOVE = b"\xff"
"""Greater than any byte of a label: prefix + _ABOVE ends what lies below the prefix."""
_PAGE = 256

_Row: TypeAlias = tuple[Any, ...]
"""id, namespace, key, value, created, updated, ttl, score."""


class Reader:
    """Reads the operations of one batch.

    Args:
        batch: The batch: its queries are embedded already.
        codec: What values were encoded by.
        omit: Whether to pass over items that have expired.
        pgvector: Whether the server compares vectors itself.
        distance: What tells how similar two vectors are.
    """

    def __init__(
        self,
        batch: Batch,
        codec: Codec,
        omit: bool,
        pgvector: bool,
        distance: Distance = "cosine",
    ) -> None:
        self._batch = batch
        self._codec = codec
        self._omit = omit
        self._pgvector = pgvector
        self._distance: Distance = distance
        self.touched: list[int] = []
        """Items that were read, and whose time to live begins anew."""

    def read(self, op: Op) -> Steps[Result]:
        """What one operation finds; None for a put."""
        if isinstance(op, GetOp):
            return (yield from self._get(op))
        if isinstance(op, SearchOp):
            return (yield from self._search(op))
        if isinstance(op, ListNamespacesOp):
            where = (*_bounds(packed(literal_prefix(op))), self._omit)
            rows = yield SQL.list_namespaces, where
            return listing(op, [unpacked(name) for (name,) in rows])
        return None

    def _get(self, op: GetOp) -> Steps[Item | None]:
        rows = yield SQL.get, (packed(op.namespace), to_text(op.key), self._omit)
        if not rows:
            return None
        row = rows[0]
        self._touch(row, op.refresh_ttl)
        return Item(
            value=self._value(row),
            key=op.key,
            namespace=op.namespace,
            created_at=_moment(row[4]),
            updated_at=_moment(row[5]),
        )

    def _search(self, op: SearchOp) -> Steps[list[SearchItem]]:
        judge = judge_of(op.filter)
        limit = op.limit if op.limit >= 0 else None
        query = self._batch.queries.get(op.query or "")
        if query is not None:
            page = (limit, op.offset) if judge is None else (None, 0)
            rows = yield from self._scored(op, query, *page)
        elif judge is None:
            rows = yield SQL.search, (*self._where(op), limit, op.offset)
        else:
            rows = yield from self._passing(op, judge)
        if judge is not None:
            if query is not None:
                rows = [row for row in rows if self._meets(row, judge)]
            rows = rows[op.offset :] if limit is None else rows[op.offset : op.offset + limit]
        return [self._found(row, op) for row in rows]

    def _found(self, row: _Row, op: SearchOp) -> SearchItem:
        self._touch(row, op.refresh_ttl)
        created, updated = _moment(row[4]), _moment(row[5])
        namespace, key = known(row[1]), from_text(row[2])
        return SearchItem(namespace, key, self._value(row), created, updated, row[7])

    def _passing(self, op: SearchOp, judge: Judge) -> Steps[list[_Row]]:
        """As many rows that meet a filter as the page of a search needs, in order."""
        needed = op.offset + op.limit if op.limit >= 0 else inf
        rows = yield SQL.search, (*self._where(op), _PAGE, 0)
        found: list[_Row] = [row for row in rows if self._meets(row, judge)]
        if len(rows) < _PAGE or len(found) >= needed:
            return found
        ids = yield SQL.search_ids, self._where(op)
        found = []
        for first in range(0, len(ids), _PAGE):
            page = int_array([item for (item,) in ids[first : first + _PAGE]])
            rows = yield SQL.search_page, (page,)
            found += [row for row in rows if self._meets(row, judge)]
            if len(found) >= needed:
                break
        return found

    def _scored(
        self, op: SearchOp, query: bytes, limit: int | None, offset: int
    ) -> Steps[list[_Row]]:
        """The rows of a search by similarity, in order."""
        where = self._where(op)
        if self._pgvector:
            page = (limit, offset, _finite(query), self._distance)
            rows = yield SQL.search_by_extension, (*where, *page)
            if not rows or rows[0][7] != inf:
                return rows  # else there are vectors of several lengths: best_scores says so
        vectors = yield SQL.search_vectors, where
        owned = [(item, pack(vector)) for item, vector in vectors]
        scores = best_scores(query, owned, self._distance)
        rows = yield (
            SQL.search_scored,
            (*where, limit, offset, list(scores), list(scores.values())),
        )
        return rows

    def _where(self, op: SearchOp) -> tuple[bytes, bytes, bool]:
        return (*_bounds(packed(op.namespace_prefix)), self._omit)

    def _meets(self, row: _Row, judge: Judge) -> bool:
        return judge(self._codec.loads(peek(row[3])))

    def _touch(self, row: _Row, refreshes: bool) -> None:
        if refreshes and row[6] is not None:
            self.touched.append(row[0])

    def _value(self, row: _Row) -> dict[str, Any]:
        _, payload = unseal(_place(row[1], from_text(row[2])), row[3])
        return self._codec.loads(payload)


def writer(batch: Batch, codec: Codec) -> Callable[[], Steps[None]]:
    """Makes the steps that put and delete the items of a batch; their values are encoded now."""
    namespaces: list[bytes] = []
    keys: list[str] = []
    values: list[bytes | None] = []
    ttls: list[float | None] = []
    owners: list[int] = []
    vectors: list[str] = []
    for number, ((namespace, key), put) in enumerate(batch.puts.items(), 1):
        name = packed(namespace)
        namespaces.append(name)
        keys.append(to_text(key))
        ttls.append(put.ttl)
        try:
            dumped = None if put.value is None else codec.dumps(put.value)
        except StorageError as error:
            error.add_note(f"It is in the value to be put under {key!r} of {namespace!r}.")
            raise
        values.append(None if dumped is None else seal(ITEM, _place(name, key), dumped))
        owners += [number] * len(put.vectors)
        vectors += ["{" + ",".join(map(repr, _finite(vector))) + "}" for vector in put.vectors]

    def steps() -> Steps[None]:
        yield (
            SQL.put,
            (
                bytes_array(namespaces),
                text_array(keys),
                bytes_array(values),
                float_array(ttls),
                int_array(owners),
                text_array(vectors),
            ),
        )

    return steps


def refresh(ids: list[int]) -> Steps[None]:
    """Begin the times to live of items anew."""
    yield SQL.refresh, (ids,)


def sweep() -> Steps[int]:
    """Delete what has expired; how much it was."""
    return (yield SQL.sweep, ())[0][0]


def has_pgvector() -> Steps[tuple[bool, bool]]:
    """Whether the database has pgvector, and whether the server could add it."""
    installed, available = (yield SQL.has_extension, ())[0]
    return installed, available


def make_pgvector() -> Steps[None]:
    """Add pgvector to the database."""
    yield SQL.make_extension, ()


def _finite(vector: bytes) -> list[float]:
    """A vector as pgvector takes it, which refuses numbers that are not finite: as zeros, which are
    similar to nothing, too."""
    numbers = unpack(vector).tolist()
    return numbers if isfinite(sum(numbers)) else [0.0] * len(numbers)


def _bounds(low: bytes) -> tuple[bytes, bytes]:
    return low, low + _ABOVE


def _place(namespace: bytes, key: str) -> bytes:
    return _place_of(namespace) + place(key)


@lru_cache(maxsize=1024)
def _place_of(namespace: bytes) -> bytes:
    return place("item", namespace.decode("utf-8"))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
