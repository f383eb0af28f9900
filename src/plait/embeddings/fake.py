"""Embeddings without intelligence, for tests and demos: vectors that mean nothing."""

from hashlib import sha256
from random import Random
from typing import Any

from plait.embeddings import Embeddings
from plait.objects.fields import AnnotatedFields


class FakeEmbeddings(AnnotatedFields, Embeddings):
    """A random vector for each text, another one each time.

    Args:
        size: How many numbers a vector has.
    """

    size: int

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One random vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """A random vector."""
        return self._vector(None)

    def _vector(self, seed: Any) -> list[float]:
        chance = Random(seed)
        return [chance.gauss(0.0, 1.0) for _ in range(self.size)]


class DeterministicFakeEmbedding(FakeEmbeddings):
    """A random vector for each text, always the same one.

    >>> fake = DeterministicFakeEmbedding(size=3)
    >>> fake.embed_query("a") == fake.embed_query("a") != fake.embed_query("b")
    True
    """

    def embed_query(self, text: str) -> list[float]:
        """The vector of this text."""
        return self._vector(sha256(text.encode()).digest())


__all__ = ["DeterministicFakeEmbedding", "FakeEmbeddings"]
