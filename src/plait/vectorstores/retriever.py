"""`VectorStoreRetriever`: a vector store as a retriever, with one way to search it."""

from typing import Any

from plait.documents import Document
from plait.errors import InvalidStoreOpError
from plait.retrievers import BaseRetriever
from plait.vectorstores.base import SEARCH_TYPES, VectorStore, check_search_type


class VectorStoreRetriever(BaseRetriever):
    """Searches a vector store.

    Args:
        vectorstore: The store.
        search_type: "similarity"; "mmr", which prefers variety; or "similarity_score_threshold",
            which leaves out what is not similar enough.
        search_kwargs: Arguments of the search: `k`, `filter`, `fetch_k`, `score_threshold`, ...

    Raises:
        InvalidStoreOpError: There is no such search, or it lacks its threshold.
    """

    vectorstore: VectorStore
    search_type: str = "similarity"
    search_kwargs: dict[str, Any]
    allowed_search_types = SEARCH_TYPES

    def __init__(self, **values: Any) -> None:
        super().__init__(**{"search_kwargs": {}, **values})
        check_search_type(self.search_type)
        if not isinstance(self.search_kwargs, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidStoreOpError(
                f"search_kwargs is a dict of arguments of the search, not {self.search_kwargs!r}."
            )
        threshold = self.search_kwargs.get("score_threshold")
        if self.search_type == "similarity_score_threshold" and not isinstance(threshold, float):
            raise InvalidStoreOpError(
                "search_type='similarity_score_threshold' needs search_kwargs={'score_threshold': "
                f"<a float from 0 to 1>}}, not {threshold!r}."
            )

    def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return self.vectorstore.search(query, self.search_type, **self._arguments(kwargs))

    async def _aget_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return await self.vectorstore.asearch(query, self.search_type, **self._arguments(kwargs))

    def _arguments(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**self.search_kwargs, **kwargs}

    def _get_ls_params(self, **kwargs: Any) -> dict[str, Any]:
        embeddings = self.vectorstore.embeddings
        named = {} if embeddings is None else {"ls_embedding_provider": type(embeddings).__name__}
        store = {"ls_vector_store_provider": type(self.vectorstore).__name__}
        return {**super()._get_ls_params(**kwargs), **store, **named}

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents to the store; returns their ids."""
        return self.vectorstore.add_documents(documents, **kwargs)

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """The async twin of `add_documents`."""
        return await self.vectorstore.aadd_documents(documents, **kwargs)


__all__ = ["VectorStoreRetriever"]
