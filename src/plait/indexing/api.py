"""`index` and `aindex`: write the documents that are new, pass over the others, delete the stale.

The steps are written once (`_Job.steps`): they yield calls of the record manager and the store,
which a sync and an async loop make.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypedDict, cast

from plait.documents import Document
from plait.errors import InvalidInputError, InvalidValueError, nearest
from plait.exceptions import LangChainException
from plait.indexing.base import RecordManager
from plait.utils.aiter import abatch_iterate
from plait.utils.iter import batch_iterate
from plait.vectorstores import VectorStore

ALGORITHMS = ("sha1", "sha256", "sha512", "blake2b")
COUNTS = ("num_added", "num_updated", "num_skipped", "num_deleted")
CLEANUPS = ("incremental", "full", "scoped_full")

Cleanup = Literal["incremental", "full", "scoped_full"]
KeyEncoder = Literal["sha1", "sha256", "sha512", "blake2b"] | Callable[[Document], str]
SourceKey = str | Callable[[Document], str]


class IndexingException(LangChainException):
    """A document could not be deleted, so that the index is not as its record says."""


class IndexingResult(TypedDict):
    """How many documents were added, written anew, left as they are, and deleted."""

    num_added: int
    num_updated: int
    num_deleted: int
    num_skipped: int


def index(
    docs_source: Any,
    record_manager: RecordManager,
    vector_store: Any,
    *,
    batch_size: int = 100,
    cleanup: Cleanup | None = None,
    source_id_key: SourceKey | None = None,
    cleanup_batch_size: int = 1_000,
    force_update: bool = False,
    key_encoder: KeyEncoder = "sha256",
    upsert_kwargs: dict[str, Any] | None = None,
) -> IndexingResult:
    """Bring a store up to date with its documents.

    A document is known by a hash of its text and metadata: one that is in the store already is
    neither embedded nor written again.

    Args:
        docs_source: Documents, or a loader of them.
        record_manager: Remembers what was indexed.
        vector_store: A vector store or a `DocumentIndex`.
        batch_size: How many documents are written at once.
        cleanup: What is deleted. "incremental": after each batch, what else is known of its
            sources; "scoped_full": the same, once all batches are written; "full": at the end, all
            that this call did not see; None: nothing.
        source_id_key: The key of the metadata that names a document's source, or a function.
        cleanup_batch_size: How many documents are deleted at once.
        force_update: Write known documents too, for example with other embeddings.
        key_encoder: The hash, or a function that gives the id of a document.
        upsert_kwargs: Further arguments of the store's `add_documents` or `upsert`.

    Returns:
        How many documents were added, updated, skipped and deleted.

    Raises:
        ValueError: An unknown cleanup or hash, no source where the cleanup needs one, metadata that
            is no JSON, or a store that cannot delete.
        KeyError: A document has no such key in its metadata.
        TypeError: The store is none.
        IndexingException: The store did not delete what is stale.

    >>> from plait.embeddings import DeterministicFakeEmbedding
    >>> from plait.indexing import InMemoryRecordManager
    >>> from plait.vectorstores import InMemoryVectorStore
    >>> store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    >>> records = InMemoryRecordManager("docs")
    >>> tea = Document("tea", metadata={"source": "menu"})
    >>> index([tea], records, store, cleanup="full")
    {'num_added': 1, 'num_updated': 0, 'num_skipped': 0, 'num_deleted': 0}
    >>> index([tea, Document("coffee")], records, store, cleanup="full")
    {'num_added': 1, 'num_updated': 0, 'num_skipped': 1, 'num_deleted': 0}
    >>> index([], records, store, cleanup="full")
    {'num_added': 0, 'num_updated': 0, 'num_skipped': 0, 'num_deleted': 2}
    """
    source_of = _source_of(source_id_key, cleanup)
    write = _Writing(key_encoder, force_update, upsert_kwargs or {}, cleanup_batch_size, batch_size)
    steps = _Job(record_manager, vector_store, cleanup, source_of, write).steps()
    batches = _batches(docs_source, batch_size)
    answer: Any = None
    while True:
        try:
            call = steps.send(answer)
        except StopIteration as end:
            return end.value
        if call is NEXT:
            answer = next(batches, None)
        else:
            answer = getattr(call.target, call.method)(*call.args, **call.kwargs)


async def aindex(
    docs_source: Any,
    record_manager: RecordManager,
    vector_store: Any,
    *,
    batch_size: int = 100,
    cleanup: Cleanup | None = None,
    source_id_key: SourceKey | None = None,
    cleanup_batch_size: int = 1_000,
    force_update: bool = False,
    key_encoder: KeyEncoder = "sha256",
    upsert_kwargs: dict[str, Any] | None = None,
) -> IndexingResult:
    """The async twin of `index`; the documents may come from an async iterator, too."""
    source_of = _source_of(source_id_key, cleanup)
    write = _Writing(key_encoder, force_update, upsert_kwargs or {}, cleanup_batch_size, batch_size)
    steps = _Job(record_manager, vector_store, cleanup, source_of, write).steps()
    batches = _abatches(docs_source, batch_size)
    answer: Any = None
    while True:
        try:
            call = steps.send(answer)
        except StopIteration as end:
            return end.value
        if call is NEXT:
            answer = await anext(batches, None)
        else:
            answer = await getattr(call.target, f"a{call.method}")(*call.args, **call.kwargs)


# --- the steps ------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call of the record manager or the store; the answer is sent back."""

    target: Any
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


NEXT = Call(None, "next", (), {})
"""Asks for the next batch of documents (None: there is none)."""

Steps = Generator[Call, Any, Any]


def _call(target: Any, method: str, *args: Any, **kwargs: Any) -> Call:
    return Call(target, method, args, kwargs)


@dataclass(frozen=True, slots=True)
class _Writing:
    """How documents are named, written and deleted."""

    key_encoder: KeyEncoder
    force: bool
    kwargs: dict[str, Any]
    cleanup_size: int
    batch_size: int

    def key_of(self, document: Document) -> str:
        """The id under which a document is indexed."""
        if callable(self.key_encoder):
            return self.key_encoder(document)
        return key_of(document, self.key_encoder)


@dataclass(slots=True)
class _Job:
    """One call of `index`."""

    records: RecordManager
    store: Any
    cleanup: Cleanup | None
    source_of: Callable[[Document], str | None]
    write: _Writing
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    sources: set[str] = field(default_factory=set[str])

    def steps(self) -> Steps:
        put = _writer_of(self.store)
        start = yield _call(self.records, "get_time")
        while (batch := (yield NEXT)) is not None:
            yield from self._index(cast("list[Document]", batch), put, start)
        if self.cleanup == "full":
            yield from self._clean(start, None)
        elif self.cleanup == "scoped_full" and self.sources:
            yield from self._clean(start, sorted(self.sources))
        return self.counts

    def _index(self, batch: list[Document], put: str, start: float) -> Steps:
        """Write what is new in a batch, and note all of it as seen."""
        documents: dict[str, Document] = {}
        for document in batch:
            documents.setdefault(self.write.key_of(document), document)
        sources = [self._source(document) for document in documents.values()]
        known = dict(
            zip(documents, (yield _call(self.records, "exists", list(documents))), strict=True)
        )
        written = [key for key in documents if self.write.force or not known[key]]
        if written:
            named = [_under(key, documents[key]) for key in written]
            more: dict[str, Any] = {}
            if put != "upsert":  # a vector store may write to its database in batches, too
                more = {"ids": written, "batch_size": self.write.batch_size}
            yield _call(self.store, put, named, **{**more, **self.write.kwargs})
        yield _call(self.records, "update", list(documents), group_ids=sources, time_at_least=start)
        updated = sum(known[key] for key in written)
        self.counts["num_added"] += len(written) - updated
        self.counts["num_updated"] += updated
        self.counts["num_skipped"] += len(batch) - len(written)
        scope = {source for source in sources if source is not None}
        self.sources |= scope
        if self.cleanup == "incremental":
            yield from self._clean(start, sorted(scope))

    def _source(self, document: Document) -> str | None:
        source = self.source_of(document)
        if source is None and self.cleanup in ("incremental", "scoped_full"):
            raise InvalidValueError(
                f"cleanup={self.cleanup!r} deletes by source, and a document has none: "
                f"{document!r:.200}. Give it one under source_id_key, or use cleanup='full'."
            )
        return source

    def _clean(self, start: float, sources: list[str] | None) -> Steps:
        """Delete what was not seen since `start`, of these sources (None: of all)."""
        asked = {"group_ids": sources, "before": start, "limit": self.write.cleanup_size}
        while stale := (yield _call(self.records, "list_keys", **asked)):
            told = yield _call(self.store, "delete", stale)
            refused = isinstance(told, dict) and cast("Any", told).get("num_failed")
            if told is False or refused:
                raise IndexingException(
                    f"{type(self.store).__name__} did not delete {len(stale)} stale documents "
                    f"({stale[0]!r}, ...): it answered {told!r}. They are still on record; index "
                    "again once it can delete them."
                )
            yield _call(self.records, "delete_keys", stale)
            self.counts["num_deleted"] += len(stale)


def _writer_of(store: Any) -> str:
    """The method by which documents are written.

    Raises:
        TypeError: The store is none.
        ValueError: It cannot delete.
    """
    if getattr(cast("Any", type(store)), "delete", None) is VectorStore.delete:
        raise InvalidValueError(
            f"Vectorstore {type(store).__name__} does not define delete(), which indexing needs."
        )
    if hasattr(store, "delete"):
        for method in ("upsert", "add_documents"):
            if hasattr(store, method):
                return method
    raise InvalidInputError(
        f"index() writes to a VectorStore or a DocumentIndex, not to {type(store).__name__}."
    )


def _source_of(key: SourceKey | None, cleanup: str | None) -> Callable[[Document], str | None]:
    """What tells the source of a document.

    Raises:
        ValueError: The cleanup is unknown, or deletes by source and there is no key.
    """
    if cleanup is not None and cleanup not in CLEANUPS:
        raise InvalidValueError(f"Unknown cleanup {cleanup!r}. {nearest(cleanup, CLEANUPS)}")
    if key is None:
        if cleanup in ("incremental", "scoped_full"):
            raise InvalidValueError(
                f"cleanup={cleanup!r} deletes by source: say where a document names its own, "
                "source_id_key='source'."
            )
        return lambda document: None
    if callable(key):
        return key
    if isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return lambda document: _named_source(document, key)
    raise InvalidValueError(f"source_id_key is a key of the metadata or a function, not {key!r}.")


def _named_source(document: Document, key: str) -> str:
    try:
        return document.metadata[key]
    except KeyError as missing:
        missing.add_note(
            f"source_id_key={key!r} names no key of the metadata of {document!r:.200}."
        )
        raise


def key_of(document: Document, algorithm: str) -> str:
    """The key of a document: a hash of its text and its metadata, whatever its own id.

    Raises:
        ValueError: The hash is unknown, or the metadata is no JSON.

    >>> key_of(Document("a"), "sha256")[:8]
    '16afe73c'
    """
    if algorithm not in ALGORITHMS:
        raise InvalidValueError(
            f"Unknown key_encoder {algorithm!r}. {nearest(algorithm, ALGORITHMS)}"
        )

    def digest(text: str) -> str:
        return hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()

    try:
        facts = json.dumps(document.metadata, sort_keys=True)
    except TypeError as error:
        raise InvalidValueError(
            f"The metadata of {document!r:.200} is no JSON ({error}), and has no hash. Make it "
            "plain, or give key_encoder= a function."
        ) from error
    return digest(digest(document.page_content) + digest(facts))


def _under(key: str, document: Document) -> Document:
    return Document(document.page_content, metadata=document.metadata, id=key)


# --- documents in batches -------------------------------------------------------------------------


def _batches(source: Any, size: int) -> Iterator[list[Document]]:
    documents: Iterable[Document] = source.lazy_load() if _is_loader(source) else source
    return batch_iterate(size, documents)


async def _abatches(source: Any, size: int) -> AsyncIterator[list[Document]]:
    documents = source.alazy_load() if _is_loader(source) else source
    if hasattr(documents, "__aiter__"):
        async for batch in abatch_iterate(size, cast("AsyncIterable[Document]", documents)):
            yield batch
    else:
        for batch in batch_iterate(size, cast("Iterable[Document]", documents)):
            yield batch


def _is_loader(source: Any) -> bool:
    return hasattr(source, "lazy_load") and not hasattr(source, "__iter__")


__all__ = ["IndexingException", "IndexingResult", "aindex", "index"]
