"""`Embeddings`, where LangChain has it."""

from plait.embeddings import Embeddings

__all__ = ["Embeddings"]
