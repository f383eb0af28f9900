"""A document index in memory, for tests: it finds the documents that hold a text most often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.common.ids import new_id
from plait.documents import Document
from plait.errors import InvalidValueError
from plait.indexing.base import DeleteResponse, DocumentIndex, UpsertResponse


class InMemoryDocumentIndex(DocumentIndex):
    """Documents in memory; a search counts how often the query stands in each.

    >>> index = InMemoryDocumentIndex(top_k=1)
    >>> _ = index.upsert([Document("tea, tea", id="1"), Document("tea", id="2")])
    >>> [document.id for document in index.invoke("tea")]
    ['1']
    """

    store: dict[str, Document] = {}  # noqa: RUF012 - a field, copied for each instance
    top_k: int = 4
    """How many documents a search finds at most."""

    def upsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:
        kept = [item if item.id else _with_id(item) for item in items]
        self.store.update({str(item.id): item for item in kept})
        return {"succeeded": [str(item.id) for item in kept], "failed": []}

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> DeleteResponse:
        if ids is None:
            raise InvalidValueError("delete() needs the ids of the documents: delete(ids=[...]).")
        gone = [each for each in ids if self.store.pop(each, None) is not None]
        return {"succeeded": gone, "num_deleted": len(gone), "num_failed": 0, "failed": []}

    def get(self, ids: Sequence[str], /, **kwargs: Any) -> list[Document]:
        return [self.store[each] for each in ids if each in self.store]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        counted = sorted(
            self.store.values(), key=lambda each: each.page_content.count(query), reverse=True
        )
        return counted[: self.top_k]


def _with_id(document: Document) -> Document:
    return Document(document.page_content, metadata=document.metadata, id=new_id())


__all__ = ["InMemoryDocumentIndex"]
