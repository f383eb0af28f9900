"""The port of stores: `BaseStore`, its operations, and what all adapters share."""

from plait.embeddings import AEmbeddingsFunc, Embeddings, EmbeddingsFunc, ensure_embeddings
from plait.errors import InvalidNamespaceError
from plait.store.base.items import (
    NOT_PROVIDED,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NamespaceMatchType,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from plait.store.base.namespaces import validate_op_namespace
from plait.store.base.store import BaseStore
from plait.store.base.text import get_text_at_path, tokenize_path

__all__ = [
    "NOT_PROVIDED",
    "AEmbeddingsFunc",
    "BaseStore",
    "Embeddings",
    "EmbeddingsFunc",
    "GetOp",
    "IndexConfig",
    "InvalidNamespaceError",
    "Item",
    "ListNamespacesOp",
    "MatchCondition",
    "NamespaceMatchType",
    "NamespacePath",
    "NotProvided",
    "Op",
    "PutOp",
    "Result",
    "SearchItem",
    "SearchOp",
    "TTLConfig",
    "ensure_embeddings",
    "get_text_at_path",
    "tokenize_path",
    "validate_op_namespace",
]
