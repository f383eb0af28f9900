"""`InMemoryVectorStore`: documents and their vectors in this process, and as JSON in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from plait.common.ids import new_id
from plait.documents import Document
from plait.embeddings import ensure_embeddings
from plait.errors import InvalidStoreOpError
from plait.store.base.vectors import best_scores, pack
from plait.vectorstores.base import VectorStore, documents_of
from plait.vectorstores.utils import most_relevant

if TYPE_CHECKING:
    from plait.embeddings import Embeddings

Filter = Callable[[Document], bool]
_Packed: TypeAlias = tuple[dict[str, Any], bytes]
"""What is known of a document, and its vector as searches take it."""


class InMemoryVectorStore(VectorStore):
    """Keeps documents in this process and finds them by cosine similarity.

    numpy (extra `vectors`) makes searches some hundred times as fast; the scores are the same.
    Searches take `filter=`, a function that says of a document whether it may be found.

    Args:
        embedding: Embeddings (plait's, LangChain's, a function, "provider:model").

    >>> store = InMemoryVectorStore(lambda texts: [[len(text), 1.0] for text in texts])
    >>> store.add_texts(["ab", "abcdef"], [{"n": 1}, {"n": 2}], ids=["1", "2"])
    ['1', '2']
    >>> store.similarity_search("a", k=1)
    [Document(id='1', metadata={'n': 1}, page_content='ab')]
    >>> store.similarity_search("a", filter=lambda document: document.metadata["n"] > 1)
    [Document(id='2', metadata={'n': 2}, page_content='abcdef')]
    """

    def __init__(self, embedding: Embeddings | Any) -> None:
        self.embedding = ensure_embeddings(embedding)
        self.store: dict[str, dict[str, Any]] = {}
        """What is known of each document, by its id: `id`, `vector`, `text` and `metadata`."""
        self._packed: dict[str, _Packed] = {}

    @property
    def embeddings(self) -> Embeddings:
        """What makes vectors of texts."""
        return self.embedding

    # --- adding and deleting ---------------------------------------------------------------------

    def add_documents(
        self, documents: list[Document], ids: Sequence[str | None] | None = None, **kwargs: Any
    ) -> list[str]:
        """Add documents; returns their ids.

        Args:
            documents: The documents. One under an id that is there replaces it.
            ids: The id of each; by default its own, or a new one.
            kwargs: Of the port; there are none here.

        Raises:
            InvalidStoreOpError: There are not as many ids as documents.
        """
        _refuse("add_documents", kwargs)
        _check_ids(documents, ids)
        texts = [document.page_content for document in documents]
        return self._keep(documents, ids, self.embedding.embed_documents(texts))

    async def aadd_documents(
        self, documents: list[Document], ids: Sequence[str | None] | None = None, **kwargs: Any
    ) -> list[str]:
        """The async twin of `add_documents`."""
        _refuse("aadd_documents", kwargs)
        _check_ids(documents, ids)
        texts = [document.page_content for document in documents]
        return self._keep(documents, ids, await self.embedding.aembed_documents(texts))

    def _keep(
        self,
        documents: Sequence[Document],
        ids: Sequence[str | None] | None,
        vectors: Sequence[Sequence[float]],
    ) -> list[str]:
        if len(vectors) != len(documents):
            raise InvalidStoreOpError(
                f"{type(self.embedding).__name__} gave {len(vectors)} vectors for "
                f"{len(documents)} texts. It must give one for each."
            )
        given = ids or [None] * len(documents)
        kept = [id or one.id or new_id() for id, one in zip(given, documents, strict=True)]
        for id, document, vector in zip(kept, documents, vectors, strict=True):
            self._put(id, document.page_content, vector, document.metadata)
        return kept

    def _put(
        self, id: str, text: str, vector: Sequence[float], metadata: Mapping[str, Any]
    ) -> None:
        known = {"id": id, "vector": vector, "text": text, "metadata": dict(metadata)}
        self.store[id], self._packed[id] = known, (known, pack(vector))

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
        """Delete documents by their ids; unknown ids are no error."""
        _refuse("delete", kwargs)
        for id in ids or ():
            self.store.pop(id, None)
            self._packed.pop(id, None)

    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
        """The async twin of `delete`; memory needs no thread."""
        self.delete(ids, **kwargs)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents under these ids; those that are not there are left out."""
        found = map(self.store.get, ids)
        return [_document(known) for known in found if known is not None]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The async twin of `get_by_ids`; memory needs no thread."""
        return self.get_by_ids(ids)

    # --- searching -------------------------------------------------------------------------------

    def similarity_search_with_score_by_vector(
        self, embedding: Sequence[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The `k` documents nearest to a vector, and their cosine similarity to it.

        Raises:
            InvalidStoreOpError: Stored vectors have another length.
        """
        _refuse("similarity_search_with_score_by_vector", kwargs)
        found = self._nearest(pack(embedding), k, filter)
        return [(_document(known), score) for (known, _), score in found]

    def _nearest(
        self, query: bytes, k: int | None, filter: Filter | None
    ) -> list[tuple[_Packed, float]]:
        """The `k` nearest, and their scores. What is deleted or replaced meanwhile, on another
        thread or by the filter, may be found as it was."""
        kept = self._packed.copy()
        k = len(kept) if k is None else k  # as a slice up to None: all
        if k < 0:
            raise InvalidStoreOpError(f"k={k}: how many documents to find is 0 or more.")
        if filter is not None and not callable(filter):
            raise InvalidStoreOpError(
                f"filter={filter!r}: a function from a document to whether it may be found."
            )
        owned = [
            (id, vector)
            for id, (known, vector) in kept.items()
            if id in self.store and (filter is None or filter(_document(known)))
        ]
        best = nlargest(k, best_scores(query, owned).items(), key=lambda pair: pair[1])
        return [(kept[id], score) for id, score in best]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The `k` documents nearest to a text, and their cosine similarity to it."""
        vector = self.embedding.embed_query(query)
        return self.similarity_search_with_score_by_vector(vector, k, **kwargs)

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The async twin of `similarity_search_with_score`."""
        vector = await self.embedding.aembed_query(query)
        return self.similarity_search_with_score_by_vector(vector, k, **kwargs)

    def similarity_search_by_vector(
        self, embedding: Sequence[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents nearest to a vector."""
        found = self.similarity_search_with_score_by_vector(embedding, k, **kwargs)
        return [document for document, _ in found]

    async def asimilarity_search_by_vector(
        self, embedding: Sequence[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """The async twin of `similarity_search_by_vector`; memory needs no thread."""
        return self.similarity_search_by_vector(embedding, k, **kwargs)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The `k` documents nearest to a text."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The async twin of `similarity_search`."""
        found = await self.asimilarity_search_with_score(query, k, **kwargs)
        return [document for document, _ in found]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda similarity: min(max(similarity, 0.0), 1.0)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """`max_marginal_relevance_search` with a vector instead of a text."""
        _refuse("max_marginal_relevance_search_by_vector", kwargs)
        query = pack(embedding)
        near = self._nearest(query, fetch_k, filter)
        picked = most_relevant(query, [vector for (_, vector), _ in near], lambda_mult, k)
        return [_document(near[place][0][0]) for place in picked]

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """The async twin of `max_marginal_relevance_search_by_vector`; memory needs no thread."""
        search = self.max_marginal_relevance_search_by_vector
        return search(embedding, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Documents that are similar to a text and differ from each other (see `VectorStore`)."""
        search = self.max_marginal_relevance_search_by_vector
        return search(self.embedding.embed_query(query), k, fetch_k, lambda_mult, **kwargs)

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """The async twin of `max_marginal_relevance_search`."""
        search = self.max_marginal_relevance_search_by_vector
        return search(await self.embedding.aembed_query(query), k, fetch_k, lambda_mult, **kwargs)

    # --- making, files ---------------------------------------------------------------------------

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | Any,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A store with these texts."""
        _refuse("from_texts", kwargs)
        made = cls(embedding)
        made.add_documents(documents_of(texts, metadatas, ids))
        return made

    @classmethod
    async def afrom_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | Any,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> Self:
        """The async twin of `from_texts`."""
        _refuse("afrom_texts", kwargs)
        made = cls(embedding)
        await made.aadd_documents(documents_of(texts, metadatas, ids))
        return made

    def dump(self, path: str | Path) -> None:
        """Write all documents and vectors to a JSON file; folders on its way are made.

        Raises:
            InvalidStoreOpError: The metadata of a document holds what JSON has no form for.
        """
        written = {id: json.dumps(_as_json(id, one), indent=2) for id, one in self.store.items()}
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        records = (f"{json.dumps(id)}: {record}" for id, record in written.items())
        part = path.with_name(f"{path.name}.part")  # the file is the old or the new one, whole
        part.write_text("{\n" + ",\n".join(records) + "\n}\n", encoding="utf-8")
        part.replace(path)

    @classmethod
    def load(cls, path: str | Path, embedding: Embeddings | Any, **kwargs: Any) -> Self:
        """A store with the documents of a file that `dump` wrote, here or in LangChain.

        The file is read as data: nothing in it is imported or executed.

        Args:
            path: The file.
            embedding: What made its vectors.
            kwargs: For the constructor.

        Raises:
            InvalidStoreOpError: It is no such file.
        """
        made = cls(embedding, **kwargs)
        try:
            records: Any = json.loads(Path(path).read_text(encoding="utf-8"))
            for id, record in cast("dict[str, Any]", records).items():
                made._put(id, *_read(record))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InvalidStoreOpError(
                f"{path} is no dump of an InMemoryVectorStore: {type(error).__name__}: {error}"
            ) from error
        return made


def _document(known: Mapping[str, Any]) -> Document:
    return Document(known["text"], id=known["id"], metadata=dict(known["metadata"]))


def _read(record: Mapping[str, Any]) -> tuple[str, list[float], dict[str, Any]]:
    text, vector, metadata = record["text"], record["vector"], record["metadata"]
    if not isinstance(text, str) or not isinstance(metadata, dict):
        raise ValueError(f"a document needs a text and metadata: {str(record)[:200]}")
    return text, [float(number) for number in vector], cast("dict[str, Any]", metadata)


def _as_json(id: str, record: Mapping[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(record["metadata"])
    except (TypeError, ValueError) as error:
        raise InvalidStoreOpError(
            f"The metadata of document {id!r} cannot be written as JSON ({error}). Keep texts, "
            "numbers, lists and dicts there."
        ) from error
    return {**record, "vector": [float(number) for number in record["vector"]]}


def _check_ids(documents: Sequence[Document], ids: Sequence[str | None] | None) -> None:
    if ids is not None and len(ids) != len(documents):
        raise InvalidStoreOpError(
            f"{len(documents)} documents, but {len(ids)} ids. Give one for each, or none."
        )


def _refuse(method: str, unknown: Mapping[str, Any]) -> None:
    names = ", ".join(name for name in unknown if name != "batch_size")  # `index` gives that one
    if names:
        raise InvalidStoreOpError(f"InMemoryVectorStore.{method}() has no argument {names}.")


__all__ = ["InMemoryVectorStore"]
