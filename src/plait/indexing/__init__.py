"""Indexing: keep a vector store in step with its documents, writing only what has changed.

Names load on first use.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.indexing.api import IndexingException, IndexingResult, aindex, index
    from plait.indexing.base import (
        DeleteResponse,
        DocumentIndex,
        InMemoryRecordManager,
        RecordManager,
        UpsertResponse,
    )
    from plait.indexing.in_memory import InMemoryDocumentIndex

_HOMES = {
    "DeleteResponse": "base",
    "DocumentIndex": "base",
    "InMemoryDocumentIndex": "in_memory",
    "InMemoryRecordManager": "base",
    "IndexingException": "api",
    "IndexingResult": "api",
    "RecordManager": "base",
    "UpsertResponse": "base",
    "aindex": "api",
    "index": "api",
}

__getattr__ = lazily(__name__, _HOMES)

__all__ = [
    "DeleteResponse",
    "DocumentIndex",
    "InMemoryDocumentIndex",
    "InMemoryRecordManager",
    "IndexingException",
    "IndexingResult",
    "RecordManager",
    "UpsertResponse",
    "aindex",
    "index",
]
