"""Plain stores of keys and values, under LangChain's path (`langchain_core.stores`).

Not the stores of graphs, which have namespaces, searches and times: those are in `plait.store`.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Generic, TypeVar

from plait.exceptions import LangChainException
from plait.runnables import run_in_executor

K = TypeVar("K")
V = TypeVar("V")


class BaseStore(ABC, Generic[K, V]):
    """Values by their keys, many at a time. The async twins run the sync methods on a thread."""

    @abstractmethod
    def mget(self, keys: Sequence[K]) -> list[V | None]:
        """The values of keys, in their order; None where there is none."""

    async def amget(self, keys: Sequence[K]) -> list[V | None]:
        """The async twin of `mget`."""
        return await run_in_executor(None, self.mget, keys)

    @abstractmethod
    def mset(self, key_value_pairs: Sequence[tuple[K, V]]) -> None:
        """Keep values under their keys."""

    async def amset(self, key_value_pairs: Sequence[tuple[K, V]]) -> None:
        """The async twin of `mset`."""
        await run_in_executor(None, self.mset, key_value_pairs)

    @abstractmethod
    def mdelete(self, keys: Sequence[K]) -> None:
        """Delete keys; those that are not there are passed over."""

    async def amdelete(self, keys: Sequence[K]) -> None:
        """The async twin of `mdelete`."""
        await run_in_executor(None, self.mdelete, keys)

    @abstractmethod
    def yield_keys(self, *, prefix: str | None = None) -> Iterator[Any]:
        """The keys, or those that begin with `prefix`."""

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[Any]:
        """The async twin of `yield_keys`; each key is asked for on a thread."""
        keys = await run_in_executor(None, self.yield_keys, prefix=prefix)
        ended = object()
        while (key := await run_in_executor(None, lambda: next(keys, ended))) is not ended:
            yield key


ByteStore = BaseStore[str, bytes]


class InMemoryBaseStore(BaseStore[str, V]):
    """A store that is a dict, `store`.

    >>> store = InMemoryStore()
    >>> store.mset([("a", 1), ("b", 2)])
    >>> store.mget(["b", "c"]), list(store.yield_keys(prefix="a"))
    ([2, None], ['a'])
    """

    def __init__(self) -> None:
        self.store: dict[str, V] = {}

    def mget(self, keys: Sequence[str]) -> list[V | None]:
        """The values of keys, in their order; None where there is none."""
        return [self.store.get(key) for key in keys]

    async def amget(self, keys: Sequence[str]) -> list[V | None]:
        """The async twin of `mget`."""
        return self.mget(keys)

    def mset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """Keep values under their keys."""
        self.store.update(key_value_pairs)

    async def amset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """The async twin of `mset`."""
        self.mset(key_value_pairs)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete keys; those that are not there are passed over."""
        for key in keys:
            self.store.pop(key, None)

    async def amdelete(self, keys: Sequence[str]) -> None:
        """The async twin of `mdelete`."""
        self.mdelete(keys)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """The keys, or those that begin with `prefix`; the store may change meanwhile."""
        yield from [key for key in self.store if key.startswith(prefix or "")]

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """The async twin of `yield_keys`."""
        for key in self.yield_keys(prefix=prefix):
            yield key


class InMemoryStore(InMemoryBaseStore[Any]):
    """Values of any kind in memory."""


class InMemoryByteStore(InMemoryBaseStore[bytes]):
    """Bytes in memory."""


class InvalidKeyException(LangChainException):
    """A key is not one that the store can take."""


__all__ = [
    "BaseStore",
    "ByteStore",
    "InMemoryBaseStore",
    "InMemoryByteStore",
    "InMemoryStore",
    "InvalidKeyException",
]
