"""Embeddings and what makes them by their name, where LangChain has them."""

from plait.embeddings import Embeddings, init_embeddings

__all__ = ["Embeddings", "init_embeddings"]
