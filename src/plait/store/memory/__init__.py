"""The store in memory: for tests, examples, and what a process may forget."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from plait.embeddings import Embeddings
from plait.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from plait.store.base.batches import Batch, Index, Put, put_of
from plait.store.base.filters import judge_of
from plait.store.base.items import Namespace
from plait.store.base.namespaces import listing, page
from plait.store.base.vectors import best_scores


class InMemoryStore(BaseStore):
    """Keep items in dicts. Safe to use from many threads; items do not expire.

    What is put is copied, and so is what is read: dicts, lists, tuples and sets, to any depth.
    Searches without a query find items in the order in which their keys were first put.

    Args:
        index: How to embed items, for searches by similarity (None: no such searches). With numpy
            (the extra `vectors`) they are much faster.

    >>> store = InMemoryStore()
    >>> store.put(("users", "ada"), "likes", {"drink": "tea"})
    >>> store.get(("users", "ada"), "likes").value
    {'drink': 'tea'}
    >>> [item.key for item in store.search(("users",), filter={"drink": "tea"})]
    ['likes']
    """

    __slots__ = ("_index", "_items", "_lock")

    def __init__(self, *, index: IndexConfig | None = None) -> None:
        self._index = Index(index) if index else None
        self._items: dict[Namespace, dict[str, _Row]] = {}
        self._lock = Lock()

    @property
    def index_config(self) -> IndexConfig | None:
        """How items are embedded."""
        return self._index.config if self._index else None

    @property
    def embeddings(self) -> Embeddings | None:
        """What embeds items."""
        return self._index.embeddings if self._index else None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        batch = Batch(ops, self._index)
        batch.embed()
        return self._do_all(batch)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        batch = Batch(ops, self._index)
        await batch.aembed()
        return self._do_all(batch)

    def _do(self, op: Op) -> Result:
        # The namespace and the key are checked already; without embedding, that is all of a batch.
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, PutOp) and self._index is None:
            put = put_of(op, None)
            with self._lock:
                self._write(op.namespace, op.key, put, datetime.now(UTC))
            return None
        return super()._do(op)

    def _do_all(self, batch: Batch) -> list[Result]:
        with self._lock:
            results = [self._read(op, batch) for op in batch.ops]
            if batch.puts:
                now = datetime.now(UTC)
                for (namespace, key), put in batch.puts.items():
                    self._write(namespace, key, put, now)
        return results

    def _get(self, op: GetOp) -> Item | None:
        row = self._items.get(op.namespace, _EMPTY).get(op.key)
        return row.item() if row is not None else None

    def _read(self, op: Op, batch: Batch) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op, batch.queries.get(op.query or ""))
        if isinstance(op, ListNamespacesOp):
            return listing(op, sorted(self._items))
        return None

    def _search(self, op: SearchOp, query: bytes | None) -> list[SearchItem]:
        prefix, depth = op.namespace_prefix, len(op.namespace_prefix)
        below = [rows for namespace, rows in self._items.items() if namespace[:depth] == prefix]
        judge = judge_of(op.filter)
        found = [
            row for rows in below for row in rows.values() if judge is None or judge(row.value)
        ]
        if query is None:
            return [row.found(None) for row in page(found, op.limit, op.offset)]
        scores = best_scores(query, [(row, vector) for row in found for vector in row.vectors])
        found.sort(key=lambda row: -scores.get(row, -2.0))
        return [row.found(scores.get(row)) for row in page(found, op.limit, op.offset)]

    def _write(self, namespace: Namespace, key: str, put: Put, now: datetime) -> None:
        if put.value is not None:
            rows = self._items.setdefault(namespace, {})
            old = rows.get(key)
            rows[key] = _Row(namespace, key, put, old.created_at if old is not None else now, now)
        elif rows := self._items.get(namespace):
            rows.pop(key, None)
            if not rows:
                del self._items[namespace]


class _Row:
    """What is kept of an item. Its value is shared with nobody."""

    __slots__ = ("created_at", "key", "namespace", "updated_at", "value", "vectors")

    def __init__(
        self, namespace: Namespace, key: str, put: Put, created_at: datetime, updated_at: datetime
    ) -> None:
        self.namespace = namespace
        self.key = key
        self.value = _copy(put.value)
        self.vectors = put.vectors
        self.created_at = created_at
        self.updated_at = updated_at

    def item(self) -> Item:
        return Item(
            value=_copy(self.value),
            key=self.key,
            namespace=self.namespace,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def found(self, score: float | None) -> SearchItem:
        return SearchItem(
            self.namespace,
            self.key,
            _copy(self.value),
            self.created_at,
            self.updated_at,
            score,
        )


_EMPTY: dict[str, _Row] = {}


def _copy(value: Any) -> Any:
    """The value with containers of its own; what is in them is shared."""
    kind = value.__class__
    if kind is dict:
        copy = dict(value)
        for key, part in value.items():
            if part.__class__ in _CONTAINERS:
                copy[key] = _copy(part)
        return copy
    if kind is list:
        return [_copy(part) if part.__class__ in _CONTAINERS else part for part in value]
    if kind is tuple:
        return tuple([_copy(part) for part in value])
    if kind is set:
        return set(value)
    return value


_CONTAINERS = frozenset({dict, list, tuple, set})

__all__ = ["InMemoryStore"]
