"""Vector stores: documents that are found by what their texts mean.

>>> from plait.embeddings import DeterministicFakeEmbedding
>>> from plait.vectorstores import InMemoryVectorStore
>>> store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
>>> store.add_texts(["cats purr", "dogs bark"], ids=["1", "2"])
['1', '2']
>>> store.similarity_search("dogs bark", k=1)
[Document(id='2', metadata={}, page_content='dogs bark')]

Names load on first use.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.vectorstores.base import VectorStore
    from plait.vectorstores.in_memory import InMemoryVectorStore
    from plait.vectorstores.retriever import VectorStoreRetriever

_HOMES = {
    "InMemoryVectorStore": "in_memory",
    "VectorStore": "base",
    "VectorStoreRetriever": "retriever",
}

__getattr__ = lazily(__name__, _HOMES)

__all__ = ["InMemoryVectorStore", "VectorStore", "VectorStoreRetriever"]
