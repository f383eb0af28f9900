"""The peer's module path of `plait.embeddings`."""

from plait.embeddings import (
    AEmbeddingsFunc,
    Embeddings,
    EmbeddingsFunc,
    EmbeddingsLambda,
    ensure_embeddings,
)
from plait.store.base.text import get_text_at_path, tokenize_path

__all__ = [
    "AEmbeddingsFunc",
    "Embeddings",
    "EmbeddingsFunc",
    "EmbeddingsLambda",
    "ensure_embeddings",
    "get_text_at_path",
    "tokenize_path",
]
