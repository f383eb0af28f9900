"""The store in memory: for tests, examples, and what a process may forget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain, islice, repeat
from threading import Lock
from typing import Any, TypeAlias, cast

from plait.common.forks import renew_in_child
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
from plait.store.base.batches import Batch, Index, Place, value_of
from plait.store.base.filters import judge_of
from plait.store.base.items import AnyItem, Namespace
from plait.store.base.namespaces import checked, checked_key, listing, page
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

    __slots__ = ("_below", "_direct", "_index", "_items", "_lock", "_sorted")

    def __init__(self, *, index: IndexConfig | None = None) -> None:
        self._index = Index(index) if index else None
        self._items: _Items = {}
        self._below: dict[Namespace, _Items] = {}
        """By each prefix of at most `_DEPTH` labels the namespaces that have it, in the order of
        `_items`."""
        self._sorted: list[Namespace] | None = []
        """All namespaces in order; None when that must be found out."""
        self.after_fork()
        renew_in_child(self)
        own = type(self)
        self._direct = own.batch is InMemoryStore.batch and own.abatch is InMemoryStore.abatch
        """Whether calls may pass by `batch`: a class derived from this one may want them there."""

    def after_fork(self) -> None:
        """In a forked child: the lock's holder does not exist here."""
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
        ops = list(ops)
        if (done := self._gets(ops) or self._puts(ops)) is not None:
            return done
        batch = self._checked(ops)
        batch.embed()
        return self._do_all(batch)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        if (done := self._gets(ops) or self._puts(ops)) is not None:
            return done
        batch = self._checked(ops)
        await batch.aembed()
        return self._do_all(batch)

    def _checked(self, ops: list[Op]) -> Batch:
        batch = Batch(ops, self._index)
        for op in ops:
            if isinstance(op, PutOp):
                self._checked_ttl(op.ttl)
        return batch

    def get(
        self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        found = self._found(namespace, key)
        if found is not None:
            return found
        return super().get(namespace, key, refresh_ttl=refresh_ttl)

    async def aget(
        self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        found = self._found(namespace, key)
        if found is not None:
            return found
        return await super().aget(namespace, key, refresh_ttl=refresh_ttl)

    def _found(self, namespace: Namespace, key: str) -> Item | None:
        """An item that is there, without a batch: nothing needs to be checked again under what was
        checked when it was put."""
        if not self._direct or namespace.__class__ is not tuple or key.__class__ is not str:
            return None
        try:
            row = self._items.get(namespace, _EMPTY).get(key)
        except TypeError:  # a label without a hash, which the checks will tell of
            return None
        return None if row is None else row.item()

    def _do_one(self, op: Op) -> Result:
        # The namespace and the key are checked already; without embedding, that is all of a batch.
        if not self._direct:
            return super()._do_one(op)
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, PutOp):
            vectors: Sequence[bytes] = ()
            value = value_of(op)
            if self._index is not None and value:
                vectors = self._index.vectors(self._index.texts(value, op.index))
            row = _row_for(op.namespace, op.key, value, vectors)
            with self._lock:
                self._write(op.namespace, op.key, row, datetime.now(UTC))
            return None
        return super()._do_one(op)

    async def _ado_one(self, op: Op) -> Result:
        if self._direct and self._index is None:
            return self._do_one(op)  # there is nothing to wait for
        return await super()._ado_one(op)

    def _gets(self, ops: list[Op]) -> list[Result] | None:
        """The items of a batch of gets that are all there; None for every other batch."""
        if {*map(type, ops)} != {GetOp}:
            return None
        items = self._items
        try:
            with self._lock:
                rows = [items[namespace][key] for namespace, key, _ in cast("list[GetOp]", ops)]
        except (KeyError, TypeError):  # something is not there, or no op that is allowed
            return None
        return [*map(_put_into, rows, map(_new, repeat(Item, len(rows))))]

    def _puts(self, ops: list[Op]) -> list[Result] | None:
        """Do a batch of puts with nothing to embed; None for every other batch."""
        if self._index is not None or {*map(type, ops)} != {PutOp}:
            return None
        rows: dict[Place, _Row | None] = {}
        for op in cast("list[PutOp]", ops):
            place = checked(op.namespace), checked_key(op.key)
            rows[place] = _row_for(*place, value_of(op), ())
            if op.ttl is not None:
                self._checked_ttl(op.ttl)
        now = datetime.now(UTC)
        with self._lock:
            for (namespace, key), row in rows.items():
                self._write(namespace, key, row, now)
        nothing: list[Result] = [None]
        return nothing * len(ops)

    def _do_all(self, batch: Batch) -> list[Result]:
        rows = {
            place: _row_for(*place, put.value, put.vectors) for place, put in batch.puts.items()
        }
        with self._lock:
            results = [self._read(op, batch) for op in batch.ops]
            if rows:
                now = datetime.now(UTC)
                for (namespace, key), row in rows.items():
                    self._write(namespace, key, row, now)
        return results

    def _get(self, namespace: Namespace, key: str) -> Item | None:
        row = self._items.get(namespace, _EMPTY).get(key)
        return row.item() if row is not None else None

    def _read(self, op: Op, batch: Batch) -> Result:
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, SearchOp):
            return self._search(op, batch.queries.get(op.query or ""))
        if isinstance(op, ListNamespacesOp):
            if self._sorted is None:
                self._sorted = sorted(self._items)
            return listing(op, self._sorted)
        return None

    def _search(self, op: SearchOp, query: bytes | None) -> list[SearchItem]:
        rows: Iterable[_Row] = chain.from_iterable(map(_rows_of, self._at(op.namespace_prefix)))
        if (judge := judge_of(op.filter)) is not None:
            rows = (row for row in rows if judge(row.value))
        if query is None:
            end = None if op.limit < 0 else op.offset + op.limit
            return [row.found(None) for row in islice(rows, op.offset, end)]
        found = list(rows)
        scores = best_scores(query, [(row, vector) for row in found for vector in row.vectors])
        found.sort(key=lambda row: -scores.get(row, -2.0))
        return [row.found(scores.get(row)) for row in page(found, op.limit, op.offset)]

    def _at(self, prefix: Namespace) -> Iterable[dict[str, _Row]]:
        """The rows of each namespace at and below a prefix."""
        if not prefix:
            return self._items.values()
        depth = len(prefix)
        if depth <= _DEPTH:
            return self._below.get(prefix, _NOWHERE).values()
        near = self._below.get(prefix[:_DEPTH], _NOWHERE)
        return [rows for namespace, rows in near.items() if namespace[:depth] == prefix]

    def _write(self, namespace: Namespace, key: str, row: _Row | None, now: datetime) -> None:
        """Keep a row, or none, under a key. Reads of one item do not wait for the lock: a row is
        whole before it can be found."""
        rows = self._items.get(namespace)
        if row is None:
            if rows is not None and rows.pop(key, None) is not None and not rows:
                self._close(namespace)
            return
        if rows is None:
            rows = self._open(namespace)
        old = rows.get(key)
        row.created_at = now if old is None else old.created_at
        row.updated_at = now
        rows[key] = row

    def _open(self, namespace: Namespace) -> dict[str, _Row]:
        """Begin a namespace that holds nothing."""
        rows = self._items[namespace] = {}
        for depth in range(1, min(len(namespace), _DEPTH) + 1):
            self._below.setdefault(namespace[:depth], {})[namespace] = rows
        self._sorted = None
        return rows

    def _close(self, namespace: Namespace) -> None:
        """Forget a namespace that holds nothing any more."""
        del self._items[namespace]
        for depth in range(1, min(len(namespace), _DEPTH) + 1):
            near = self._below[namespace[:depth]]
            del near[namespace]
            if not near:
                del self._below[namespace[:depth]]
        self._sorted = None


class _Row:
    """What is kept of an item. Its value is shared with nobody."""

    __slots__ = ("created_at", "key", "namespace", "nested", "updated_at", "value", "vectors")

    created_at: datetime
    key: str
    namespace: Namespace
    updated_at: datetime
    vectors: Sequence[bytes]

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = copy = value.copy()
        self.nested: tuple[tuple[str, Callable[[Any], Any]], ...] = ()
        """The keys of its value under which are containers, and what copies these."""
        for name, part in value.items():
            if part.__class__ in _CONTAINERS:
                copier = _copier(part)
                copy[name] = copier(part)
                self.nested += ((name, copier),)

    # What `Item.__init__` would look into is known here, so items are filled without it.

    def item(self) -> Item:
        return self.put_into(_new(Item))

    def found(self, score: float | None) -> SearchItem:
        item = self.put_into(_new(SearchItem))
        item.score = score
        return item

    def put_into(self, item: AnyItem) -> AnyItem:
        item.value = copy = self.value.copy()
        if self.nested:
            for name, copier in self.nested:
                copy[name] = copier(copy[name])
        item.key = self.key
        item.namespace = self.namespace
        item.created_at = self.created_at
        item.updated_at = self.updated_at
        return item


def _row_for(
    namespace: Namespace, key: str, value: dict[str, Any] | None, vectors: Sequence[bytes]
) -> _Row | None:
    """What is to be kept of an item, but for its times; None: nothing, it is deleted.

    Raises:
        UnstorableValueError: The value contains itself, or is nested too deeply.
    """
    if value is None:
        return None
    try:
        row = _Row(value)
    except RecursionError:
        from plait.checkpoint.serde import UnstorableValueError  # its codec is heavy

        raise UnstorableValueError(
            f"The value to be put under {key!r} of {namespace!r} cannot be kept: it contains "
            "itself, or its lists and dicts are nested too deeply. Flatten it, or keep references "
            "such as ids instead."
        ) from None
    row.namespace = namespace
    row.key = key
    row.vectors = vectors
    return row


_Items: TypeAlias = dict[Namespace, dict[str, _Row]]

_DEPTH = 4
"""To so many labels namespaces are found by their prefixes; what is deeper is looked through. With
no bound, a namespace of n labels would cost n * n."""
_EMPTY: dict[str, _Row] = {}
_NOWHERE: _Items = {}
_new = object.__new__
_rows_of = dict[str, _Row].values
_put_into = _Row.put_into


def _itself(value: Any) -> Any:
    return value


def _copier(value: Any) -> Callable[[Any], Any]:
    """What copies a container: in C, if there is no other in it."""
    parts = value.values() if value.__class__ is dict else value
    return _copy if not _CONTAINERS.isdisjoint(map(type, parts)) else _FLAT[value.__class__]


def _copy(value: Any) -> Any:
    """The value with containers of its own; what is in them is shared."""
    kind = value.__class__
    if kind is dict:
        copy = value.copy()
        for key, part in value.items():
            if part.__class__ in _CONTAINERS:
                copy[key] = _copy(part)
        return copy
    if kind is list:
        return [_copy(part) if part.__class__ in _CONTAINERS else part for part in value]
    if kind is tuple:
        return tuple([_copy(part) for part in value])
    if kind is set:
        return value.copy()
    return value


_FLAT: dict[type, Callable[[Any], Any]] = {
    dict: dict[Any, Any].copy,
    list: list[Any].copy,
    set: set[Any].copy,
    tuple: _itself,
}
"""What copies containers of no others."""
_CONTAINERS = frozenset(_FLAT)

__all__ = ["InMemoryStore"]
