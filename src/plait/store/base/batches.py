"""What every store of ours does with a batch before and beside its storage: check and embed.

Reads see what was stored before the batch; then its puts apply, the last one of a key. So a batch
is prepared as a whole: the puts that count, the texts to embed, the queries to embed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast
from warnings import warn

from plait.embeddings import Vector, ensure_embeddings
from plait.errors import InvalidStoreOpError, UnusedQueryWarning
from plait.store.base.configs import check_index
from plait.store.base.filters import check_filter
from plait.store.base.items import (
    GetOp,
    IndexConfig,
    ListNamespacesOp,
    Namespace,
    Op,
    PutOp,
    SearchOp,
)
from plait.store.base.namespaces import checked, checked_key, packed, paged
from plait.store.base.text import WHOLE, get_text_at_path, tokenize_path
from plait.store.base.vectors import pack
from plait.warnings import program_level

Place = tuple[Namespace, str]
_MOST_MINUTES = 10**300
"""Whole numbers far beyond are none that a float could hold."""


class Put:
    """The put of a key that counts: its value (None: delete it), life, and vectors."""

    __slots__ = ("texts", "ttl", "value", "vectors")

    def __init__(
        self, value: dict[str, Any] | None, ttl: float | None, texts: Sequence[str]
    ) -> None:
        self.value = value
        self.ttl = ttl
        self.texts = texts
        self.vectors: Sequence[bytes] = ()


def put_of(op: PutOp, index: Index | None) -> Put:
    """What an operation puts.

    Raises:
        InvalidStoreOpError: Its value is no dict, its ttl no number, its index no paths.
    """
    value = value_of(op)
    return Put(value, op.ttl, index.texts(value, op.index) if index is not None and value else ())


def value_of(op: PutOp) -> dict[str, Any] | None:
    """The value that an operation puts; None: it deletes.

    Raises:
        InvalidStoreOpError: Its value is no dict, or its ttl no number.
    """
    if op.ttl is not None:
        _check_minutes(op.ttl)
    return None if op.value is None else _dict(op.value)


class Batch:
    """Checked operations, with what they need embedded.

    Args:
        ops: The operations, in order.
        index: The index of the store, if it has one.

    Raises:
        InvalidStoreOpError: An operation is none, or is wrong; nothing of the batch was done.
    """

    def __init__(self, ops: Iterable[Op], index: Index | None) -> None:
        self.index = index
        self.ops: list[Op] = []
        self.puts: dict[Place, Put] = {}
        self.queries: dict[str, bytes] = {}
        for op in ops:
            self.ops.append(self._checked(op))

    def _checked(self, op: Any) -> Op:
        if isinstance(op, GetOp):
            return _checked_get(op)
        if isinstance(op, PutOp):
            place = (checked(op.namespace), checked_key(op.key))
            self.puts[place] = put_of(op, self.index)
            return op
        if isinstance(op, SearchOp):
            if op.filter is not None:
                check_filter(op.filter)
            op = paged(op)
            if op.query:
                self._ask(op.query)
            prefix = checked(op.namespace_prefix)
            return op if prefix is op.namespace_prefix else op._replace(namespace_prefix=prefix)
        if isinstance(op, ListNamespacesOp):
            for condition in op.match_conditions or ():
                checked(condition.path)
            return paged(op)
        raise InvalidStoreOpError(f"Unknown operation type: {type(op)}. It is none of a store's.")

    def _ask(self, query: str) -> None:
        """Note a query that is to be embedded."""
        if self.index is not None:
            self.queries[query] = b""
            return
        warn(
            "A search has a query, and its store no index: the items found are not ranked by it. "
            'Give the store an index, {"dims": ..., "embed": ...}, or leave the query out.',
            UnusedQueryWarning,
            stacklevel=program_level(),
        )

    def _texts(self) -> list[str]:
        return list(dict.fromkeys([text for put in self.puts.values() for text in put.texts]))

    def embed(self) -> None:
        """Embed the texts of the puts, in one call, and each query."""
        if self.index is None:
            return
        if texts := self._texts():
            self._keep(texts, self.index.embeddings.embed_documents(texts))
        for query in self.queries:
            self.queries[query] = self.index.pack(self.index.embeddings.embed_query(query))

    async def aembed(self) -> None:
        """Like `embed`, with the async methods; queries beside each other."""
        if self.index is None:
            return
        embeddings = self.index.embeddings
        if texts := self._texts():
            self._keep(texts, await embeddings.aembed_documents(texts))
        if self.queries:
            vectors = await asyncio.gather(*map(embeddings.aembed_query, self.queries))
            self.queries = dict(zip(self.queries, map(self.index.pack, vectors), strict=True))

    def _keep(self, texts: list[str], vectors: list[list[float]]) -> None:
        assert self.index is not None
        packs = dict(zip(texts, self.index.packed(texts, vectors), strict=True))
        for put in self.puts.values():
            put.vectors = [packs[text] for text in put.texts]


def _checked_get(op: GetOp) -> GetOp:
    namespace, key, _ = op
    if namespace.__class__ is tuple and key.__class__ is str and key.isascii():
        packed(namespace)  # looks at each label, once
        return op
    return op._replace(namespace=checked(namespace), key=checked_key(key))


class Index:
    """How a store embeds: from its `IndexConfig`.

    Raises:
        ConfigError: It is none.
    """

    def __init__(self, config: IndexConfig) -> None:
        check_index(config)
        self.config = config
        self.embeddings = ensure_embeddings(config.get("embed"))
        self.dims = config.get("dims")
        # `text_fields` is what LangGraph's SQLite store calls them.
        fields: Any = config.get("fields") or config.get("text_fields") or [WHOLE]
        self._fields = [_tokens(path) for path in ([fields] if isinstance(fields, str) else fields)]

    def texts(self, value: dict[str, Any], index: Any) -> list[str]:
        """The texts of a value that are embedded, by the index of its put.

        Raises:
            InvalidStoreOpError: The index is no list of paths; the value contains itself, or is
                nested too deeply.
        """
        if index is False:
            return []
        fields = self._fields
        if index is not None:
            if isinstance(index, str) or not isinstance(index, list | tuple):
                raise InvalidStoreOpError(
                    f"index={index!r}: give False, or a list of paths such as ['title']."
                )
            fields = [_tokens(path) for path in cast("list[str]", index)]
        try:
            return [text for tokens in fields for text in get_text_at_path(value, tokens)]
        except (RecursionError, ValueError):  # JSON's error for what contains itself is the latter
            raise InvalidStoreOpError(
                "The texts of a value to be put cannot be embedded: it contains itself, or its "
                "lists and dicts are nested too deeply. Flatten it, or keep references such as ids "
                "instead."
            ) from None

    def vectors(self, texts: list[str]) -> list[bytes]:
        """Embed texts, and pack their vectors."""
        return self.packed(texts, self.embeddings.embed_documents(texts)) if texts else []

    def packed(self, texts: list[str], vectors: list[list[float]]) -> list[bytes]:
        """The vectors of texts as bytes.

        Raises:
            InvalidStoreOpError: There are not as many, or one has not the declared dimensions.
        """
        if len(vectors) != len(texts):
            raise InvalidStoreOpError(
                f"The embeddings gave {len(vectors)} vectors for {len(texts)} texts."
            )
        return [*map(self.pack, vectors)]

    def pack(self, vector: Vector) -> bytes:
        """A vector as bytes.

        Raises:
            InvalidStoreOpError: It has not as many dimensions as the index was declared with.
        """
        if self.dims is not None and len(vector) != self.dims:
            raise InvalidStoreOpError(
                f"The index was declared with dims={self.dims}; its embeddings gave a vector of "
                f"{len(vector)}."
            )
        return pack(vector)


def _tokens(path: str) -> list[str]:
    return [] if path == WHOLE else tokenize_path(path)


def _dict(value: Any) -> dict[str, Any]:
    if value.__class__ is dict:
        return value  # whoever keeps it copies or encodes it
    if not isinstance(value, Mapping):
        raise InvalidStoreOpError(
            f"The value of an item is a dict, not {value!r}. Write {{'value': ...}}."
        )
    return dict(cast("Mapping[str, Any]", value))


def _check_minutes(ttl: Any) -> None:
    if isinstance(ttl, bool) or not isinstance(ttl, int | float):
        raise InvalidStoreOpError(f"ttl={ttl!r}: a number of minutes, or None.")
    if ttl != ttl or (isinstance(ttl, int) and abs(ttl) > _MOST_MINUTES):
        raise InvalidStoreOpError(
            f"ttl is {'nan' if ttl != ttl else 'past any calendar'}: a number of minutes, or None "
            "to keep the item for ever."
        )
