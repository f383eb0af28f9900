"""`VectorStore`: derive from it to find documents by the vectors of their texts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self
from warnings import warn

from plait.common.lazy import lazily
from plait.documents import Document
from plait.errors import InvalidStoreOpError, NotSupportedError
from plait.runnables.config import run_in_executor

if TYPE_CHECKING:
    from plait.embeddings import Embeddings
    from plait.vectorstores.retriever import VectorStoreRetriever as VectorStoreRetriever

SEARCH_TYPES = ("similarity", "similarity_score_threshold", "mmr")
"""The kinds of search that `search` and retrievers know."""


class VectorStore(ABC):
    """Documents that are found by the vectors of their texts.

    A subclass defines `similarity_search` and `from_texts`, one of `add_texts` and `add_documents`,
    and what else it can do. Async twins run the sync methods on threads unless they are overridden.
    """

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes vectors of texts, if the store says."""
        return None

    # --- adding and deleting ---------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts; returns their ids.

        Args:
            texts: The texts.
            metadatas: The metadata of each.
            ids: The id of each; a text under an id that is there replaces it.
            kwargs: For the store.

        Raises:
            InvalidStoreOpError: There are not as many metadatas or ids as texts.
        """
        if type(self).add_documents is VectorStore.add_documents:
            raise self.__lacks("add_texts")
        documents = documents_of(texts, metadatas, ids)
        return self.add_documents(documents, **_with_ids(ids, kwargs))

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """The async twin of `add_texts`."""
        if type(self).aadd_documents is VectorStore.aadd_documents:
            return await run_in_executor(None, self.add_texts, texts, metadatas, ids=ids, **kwargs)
        documents = documents_of(texts, metadatas, ids)
        return await self.aadd_documents(documents, **_with_ids(ids, kwargs))

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents, under their own ids if they have some; returns the ids."""
        if type(self).add_texts is VectorStore.add_texts:
            raise self.__lacks("add_documents")
        texts, metadatas = _texts_of(documents)
        return self.add_texts(texts, metadatas, **_with_own_ids(documents, kwargs))

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """The async twin of `add_documents`."""
        if type(self).aadd_texts is VectorStore.aadd_texts:
            return await run_in_executor(None, self.add_documents, documents, **kwargs)
        texts, metadatas = _texts_of(documents)
        return await self.aadd_texts(texts, metadatas, **_with_own_ids(documents, kwargs))

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by their ids; unknown ids are no error."""
        raise self.__lacks("delete")

    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """The async twin of `delete`."""
        return await run_in_executor(None, self.delete, ids, **kwargs)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents under these ids; those that are not there are left out."""
        raise self.__lacks("get_by_ids")

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The async twin of `get_by_ids`."""
        return await run_in_executor(None, self.get_by_ids, ids)

    # --- searching -------------------------------------------------------------------------------

    @abstractmethod
    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The `k` documents that are most similar to a text, the most similar first."""

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The async twin of `similarity_search`."""
        return await run_in_executor(None, self.similarity_search, query, k=k, **kwargs)

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """`similarity_search`, with what the store calls a score: a similarity or a distance."""
        raise self.__lacks("similarity_search_with_score")

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The async twin of `similarity_search_with_score`."""
        return await run_in_executor(None, self.similarity_search_with_score, query, k=k, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """`similarity_search` with a vector instead of a text."""
        raise self.__lacks("similarity_search_by_vector")

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """The async twin of `similarity_search_by_vector`."""
        return await run_in_executor(
            None, self.similarity_search_by_vector, embedding, k=k, **kwargs
        )

    def similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """`similarity_search`, with scores from 0 (nothing in common) to 1 (the same).

        Args:
            query: What is searched for.
            k: How many documents at most.
            kwargs: For the search; `score_threshold` leaves out what scores less.
        """
        threshold = kwargs.pop("score_threshold", None)
        found = self._similarity_search_with_relevance_scores(query, k=k, **kwargs)
        return _relevant(found, threshold)

    async def asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The async twin of `similarity_search_with_relevance_scores`."""
        threshold = kwargs.pop("score_threshold", None)
        found = await self._asimilarity_search_with_relevance_scores(query, k=k, **kwargs)
        return _relevant(found, threshold)

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        score = self._select_relevance_score_fn()
        found = self.similarity_search_with_score(query, k, **kwargs)
        return [(document, score(value)) for document, value in found]

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        score = self._select_relevance_score_fn()
        found = await self.asimilarity_search_with_score(query, k, **kwargs)
        return [(document, score(value)) for document, value in found]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """What makes a relevance of a score; a subclass knows what its scores mean."""
        raise self.__lacks("_select_relevance_score_fn")

    @staticmethod
    def _euclidean_relevance_score_fn(distance: float) -> float:
        """The relevance of a euclidean distance between vectors of length 1."""
        return 1.0 - distance / math.sqrt(2)

    @staticmethod
    def _cosine_relevance_score_fn(distance: float) -> float:
        """The relevance of a cosine distance."""
        return 1.0 - distance

    @staticmethod
    def _max_inner_product_relevance_score_fn(distance: float) -> float:
        """The relevance of an inner product, where a positive one is a distance."""
        return 1.0 - distance if distance > 0 else -distance

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Documents that are similar to a text and differ from each other.

        Args:
            query: What is searched for.
            k: How many documents.
            fetch_k: How many of the most similar ones they are picked from.
            lambda_mult: From 1 (only similarity counts) to 0 (only variety does).
            kwargs: For the search.
        """
        raise self.__lacks("max_marginal_relevance_search")

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """The async twin of `max_marginal_relevance_search`."""
        search = self.max_marginal_relevance_search
        return await run_in_executor(None, search, query, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """`max_marginal_relevance_search` with a vector instead of a text."""
        raise self.__lacks("max_marginal_relevance_search_by_vector")

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """The async twin of `max_marginal_relevance_search_by_vector`."""
        search = self.max_marginal_relevance_search_by_vector
        return await run_in_executor(None, search, embedding, k, fetch_k, lambda_mult, **kwargs)

    def search(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """Search in one of the ways of `SEARCH_TYPES`; `kwargs` are those of its method.

        Raises:
            InvalidStoreOpError: There is no such way.
        """
        check_search_type(search_type)
        if search_type == "similarity":
            return self.similarity_search(query, **kwargs)
        if search_type == "mmr":
            return self.max_marginal_relevance_search(query, **kwargs)
        return [one for one, _ in self.similarity_search_with_relevance_scores(query, **kwargs)]

    async def asearch(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """The async twin of `search`."""
        check_search_type(search_type)
        if search_type == "similarity":
            return await self.asimilarity_search(query, **kwargs)
        if search_type == "mmr":
            return await self.amax_marginal_relevance_search(query, **kwargs)
        found = await self.asimilarity_search_with_relevance_scores(query, **kwargs)
        return [one for one, _ in found]

    # --- making ----------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A store with these texts."""

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """The async twin of `from_texts`."""
        kwargs = _with_ids(ids, kwargs)
        return await run_in_executor(None, cls.from_texts, texts, embedding, metadatas, **kwargs)

    @classmethod
    def from_documents(
        cls, documents: list[Document], embedding: Embeddings, **kwargs: Any
    ) -> Self:
        """A store with these documents."""
        texts, metadatas = _texts_of(documents)
        kwargs = _with_own_ids(documents, kwargs)
        return cls.from_texts(texts, embedding, metadatas, **kwargs)

    @classmethod
    async def afrom_documents(
        cls, documents: list[Document], embedding: Embeddings, **kwargs: Any
    ) -> Self:
        """The async twin of `from_documents`."""
        texts, metadatas = _texts_of(documents)
        kwargs = _with_own_ids(documents, kwargs)
        return await cls.afrom_texts(texts, embedding, metadatas, **kwargs)

    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """The store as a retriever; `kwargs` are the fields of `VectorStoreRetriever`.

        >>> from plait.embeddings import DeterministicFakeEmbedding
        >>> from plait.vectorstores import InMemoryVectorStore
        >>> store = InMemoryVectorStore.from_texts(["a", "b"], DeterministicFakeEmbedding(size=4))
        >>> [found.page_content for found in store.as_retriever(search_kwargs={"k": 1}).invoke("b")]
        ['b']
        """
        from plait.vectorstores.retriever import VectorStoreRetriever  # it builds on this module

        tags = kwargs.pop("tags", None) or self._get_retriever_tags()
        return VectorStoreRetriever(vectorstore=self, tags=tags, **kwargs)

    def _get_retriever_tags(self) -> list[str]:
        names = [type(self).__name__]
        return names if self.embeddings is None else [*names, type(self.embeddings).__name__]

    def __lacks(self, method: str) -> NotSupportedError:
        return NotSupportedError(f"{type(self).__name__} does not define {method}().")


def check_search_type(search_type: str) -> None:
    """Raise InvalidStoreOpError unless there is such a way to search."""
    if search_type not in SEARCH_TYPES:
        known = ", ".join(repr(one) for one in SEARCH_TYPES)
        raise InvalidStoreOpError(f"Unknown search_type {search_type!r}. Known: {known}.")


def documents_of(
    texts: Iterable[str],
    metadatas: Sequence[dict[str, Any]] | None,
    ids: Sequence[str | None] | None,
) -> list[Document]:
    """Documents of texts, what is known about each, and their ids.

    Raises:
        InvalidStoreOpError: There are not as many metadatas or ids as texts.
    """
    texts = list(texts)
    for name, given in (("metadatas", metadatas), ("ids", ids)):
        if given is not None and len(given) != len(texts):
            raise InvalidStoreOpError(
                f"{len(texts)} texts, but {len(given)} {name}. Give one for each text, or none."
            )
    metadatas = metadatas or [{} for _ in texts]
    ids = ids or [None] * len(texts)
    return [
        Document(text, metadata=metadata, id=id)
        for text, metadata, id in zip(texts, metadatas, ids, strict=True)
    ]


def _texts_of(documents: Sequence[Document]) -> tuple[list[str], list[dict[str, Any]]]:
    return [one.page_content for one in documents], [one.metadata for one in documents]


def _with_ids(ids: Sequence[Any] | None, kwargs: dict[str, Any]) -> dict[str, Any]:
    return kwargs if ids is None else {"ids": ids, **kwargs}


def _with_own_ids(documents: Sequence[Document], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keywords with the ids that documents have, where the caller gives none."""
    ids = [document.id for document in documents]
    return _with_ids(ids if any(ids) else None, kwargs)


def _relevant(
    found: list[tuple[Document, float]], threshold: float | None
) -> list[tuple[Document, float]]:
    outside = [score for _, score in found if not 0.0 <= score <= 1.0]
    if outside:
        warn(f"Relevance scores are from 0 to 1; the store gave {outside}.", stacklevel=3)
    return found if threshold is None else [pair for pair in found if pair[1] >= threshold]


__all__ = ["SEARCH_TYPES", "VectorStore", "check_search_type", "documents_of"]

# The peer's path of it.
__getattr__ = lazily(__name__, {"VectorStoreRetriever": "plait.vectorstores.retriever"})
