"""Embeddings: what turns texts into vectors, and how any function becomes one."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, runtime_checkable

from plait.common.lazy import lazily
from plait.common.reflection import is_routine
from plait.errors import InvalidStoreOpError

if TYPE_CHECKING:
    from plait.embeddings.fake import DeterministicFakeEmbedding, FakeEmbeddings

Vector: TypeAlias = Sequence[float]
EmbeddingsFunc: TypeAlias = Callable[[Sequence[str]], list[list[float]]]
AEmbeddingsFunc: TypeAlias = Callable[[Sequence[str]], Awaitable[list[list[float]]]]


class Embeddings(ABC):
    """Derive from it to embed texts; LangChain's class of this name fits everywhere, too.

    >>> class Lengths(Embeddings):
    ...     def embed_documents(self, texts):
    ...         return [[float(len(text))] for text in texts]
    ...     def embed_query(self, text):
    ...         return [float(len(text))]
    >>> Lengths().embed_query("four")
    [4.0]
    """

    @abstractmethod
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text that will be searched."""

    @abstractmethod
    def embed_query(self, text: str) -> list[float]:
        """The vector of what is searched for."""

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Like `embed_documents`, which it calls on a thread unless it is overridden."""
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Like `embed_query`, which it calls on a thread unless it is overridden."""
        return await asyncio.to_thread(self.embed_query, text)


@runtime_checkable
class Embedder(Protocol):
    """What counts as embeddings, of whatever class; its async twins are used if it has them."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text that will be searched."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """The vector of what is searched for."""
        ...


class EmbeddingsLambda(Embeddings):
    """A function from a list of texts to a list of vectors, as embeddings.

    Args:
        func: The function. An async one serves async calls only.
    """

    def __init__(self, func: EmbeddingsFunc | AEmbeddingsFunc) -> None:
        call = func if is_routine(func) else getattr(type(func), "__call__", func)  # noqa: B004
        self._is_async = any(map(inspect.iscoroutinefunction, (func, call)))  # func: of a partial
        self._func: Any = func

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self._is_async:
            raise InvalidStoreOpError(
                f"The embedding function {self._func!r} is async, and this is a sync call. Use the "
                "async methods (aput, asearch, ...), or give a sync function."
            )
        return self._func(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if self._is_async:
            return await self._func(texts)
        return await super().aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]


class _Adopted(Embeddings):
    """An object with the two methods, of a class that is none of ours."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._inner.embed_query(text)


def ensure_embeddings(
    embed: Embeddings | Embedder | EmbeddingsFunc | AEmbeddingsFunc | str | None,
) -> Embeddings:
    """Any way to embed, as `Embeddings`.

    Args:
        embed: Embeddings (plait's, LangChain's, or any object with their two methods), a function
            from texts to vectors, sync or async, or "provider:model" (see `init_embeddings`).

    Raises:
        InvalidStoreOpError: It is none of these (a ValueError, too).

    >>> ensure_embeddings(lambda texts: [[1.0, 0.0] for _ in texts]).embed_query("hello")
    [1.0, 0.0]
    """
    if isinstance(embed, Embeddings):
        return embed
    if isinstance(embed, str):
        return init_embeddings(embed)
    if isinstance(embed, Embedder):
        if hasattr(embed, "aembed_documents") and hasattr(embed, "aembed_query"):
            return cast(Embeddings, embed)  # LangChain's: it has all four methods
        return _Adopted(embed)
    if callable(embed):
        return EmbeddingsLambda(embed)
    raise InvalidStoreOpError(
        f"No embeddings: embed={embed!r}. Give an object with embed_documents and embed_query, or "
        "a function from a list of texts to a list of vectors."
    )


def init_embeddings(model: str, *, provider: str | None = None, **kwargs: Any) -> Embeddings:
    """Embeddings by their name, "provider:model" (see `plait.embeddings.remote`).

    >>> init_embeddings("openai:text-embedding-3-small")
    OpenAIEmbeddings(model='text-embedding-3-small')
    """
    from plait.embeddings import remote  # that module builds on this one

    return remote.init_embeddings(model, provider=provider, **kwargs)


__getattr__ = lazily(__name__, {"DeterministicFakeEmbedding": "fake", "FakeEmbeddings": "fake"})

__all__ = [
    "AEmbeddingsFunc",
    "DeterministicFakeEmbedding",
    "Embedder",
    "Embeddings",
    "EmbeddingsFunc",
    "EmbeddingsLambda",
    "FakeEmbeddings",
    "Vector",
    "ensure_embeddings",
    "init_embeddings",
]
