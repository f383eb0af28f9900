"""The port of a cache: values under (namespace, key) pairs, each for as long as its ttl says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from plait.checkpoint.serde.base import SerializerProtocol
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer

ValueT = TypeVar("ValueT")
Namespace: TypeAlias = tuple[str, ...]
"""Whose values they are: cleared together. ("a",) does not contain ("a", "b")."""
FullKey: TypeAlias = tuple[Namespace, str]
"""A namespace, and the key of a value in it."""


class BaseCache(ABC, Generic[ValueT]):
    """Derive from it to keep cached values somewhere else.

    plait hands every cache bytes that it has encoded itself, by its closed codec, so that a cache
    never has to know the types of a graph.

    Args:
        serde: how values become bytes (None: plait's codec).
    """

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        self.serde: SerializerProtocol = serde or JsonPlusSerializer()

    @abstractmethod
    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """The values of those keys that are cached and have not expired."""

    @abstractmethod
    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """`get`, without blocking the event loop."""

    @abstractmethod
    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values: key to (value, seconds that it stays valid; None: for ever)."""

    @abstractmethod
    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """`set`, without blocking the event loop."""

    @abstractmethod
    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Drop all values of these namespaces (None: of all)."""

    @abstractmethod
    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """`clear`, without blocking the event loop."""


__all__ = ["BaseCache", "FullKey", "Namespace", "ValueT"]
