"""`BaseStore`: the port of every store. An adapter defines `batch` and `abatch`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from plait.errors import NotSupportedError
from plait.store.base.items import (
    NOT_PROVIDED,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Namespace,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from plait.store.base.namespaces import checked, checked_for_put, checked_key


class BaseStore(ABC):
    """Long-term memory: dicts under keys, in namespaces, shared by all threads.

    Derive from it and define `batch` and `abatch`; every other method is made of them. Set
    `supports_ttl` where items can expire. `plait.testing.stores` checks a store of yours.
    """

    __slots__ = ("__weakref__",)

    supports_ttl: ClassVar[bool] = False
    ttl_config: TTLConfig | None = None

    @abstractmethod
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations: the reads see what was there before, then the puts apply.

        Returns:
            One result for each: an item or None, items, namespaces; None for a put.
        """

    @abstractmethod
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The async twin of `batch`."""

    def get(
        self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """One item, or None.

        Args:
            namespace: Its namespace.
            key: Its key.
            refresh_ttl: Whether its time to live begins anew (None: as the store is configured).

        Raises:
            InvalidNamespaceError: A label may not be used.
        """
        op = GetOp(checked(namespace), checked_key(key), self.__refreshes(refresh_ttl))
        return self._do_one(op)

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """The items at and below a namespace.

        Args:
            namespace_prefix: Where to search; () is everywhere.
            query: Text to rank the items by; those that are not indexed come last.
            filter: What their values must be like, see `plait.store.base.filters`.
            limit: At most so many (-1: all).
            offset: Pass over so many first.
            refresh_ttl: Whether the times to live of what is found begin anew.

        Raises:
            InvalidNamespaceError: A label may not be used.
            InvalidStoreOpError: An unknown operator, a negative offset.
        """
        op = SearchOp(
            checked(namespace_prefix), filter, limit, offset, query, self.__refreshes(refresh_ttl)
        )
        return self._do_one(op)

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Write an item; what was under its key goes.

        Args:
            namespace: Its namespace: at least one label, the first not "langgraph".
            key: Its key.
            value: A dict.
            index: Paths of the texts to embed; None: those of the store; False: none.
            ttl: Minutes to live (None: for ever; not given: as the store is configured).

        Raises:
            InvalidNamespaceError: A label may not be used, or there is none.
            InvalidStoreOpError: The value is no dict, or a path no path.
            NotSupportedError: A ttl, and items of this store cannot expire.
        """
        op = PutOp(
            checked_for_put(namespace), checked_key(key), value, index, self._checked_ttl(ttl)
        )
        self._do_one(op)

    def delete(self, namespace: Namespace, key: str) -> None:
        """Delete an item, if it is there.

        Args:
            namespace: Its namespace.
            key: Its key.

        Raises:
            InvalidNamespaceError: A label may not be used.
        """
        self._do_one(PutOp(checked(namespace), checked_key(key), None))

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """The namespaces that hold items, in order.

        Args:
            prefix: What they begin with; "*" stands for any one label.
            suffix: What they end with.
            max_depth: Cut them after so many labels, and name each result once.
            limit: At most so many (-1: all).
            offset: Pass over so many first.
        """
        op = _listing(prefix, suffix, max_depth, limit, offset)
        return self._do_one(op)

    async def aget(
        self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """The async twin of `get`."""
        op = GetOp(checked(namespace), checked_key(key), self.__refreshes(refresh_ttl))
        return await self._ado_one(op)

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """The async twin of `search`."""
        op = SearchOp(
            checked(namespace_prefix), filter, limit, offset, query, self.__refreshes(refresh_ttl)
        )
        return await self._ado_one(op)

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """The async twin of `put`."""
        op = PutOp(
            checked_for_put(namespace), checked_key(key), value, index, self._checked_ttl(ttl)
        )
        await self._ado_one(op)

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """The async twin of `delete`."""
        await self._ado_one(PutOp(checked(namespace), checked_key(key), None))

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """The async twin of `list_namespaces`."""
        op = _listing(prefix, suffix, max_depth, limit, offset)
        return await self._ado_one(op)

    def _do_one(self, op: Op) -> Any:
        return self.batch([op])[0]

    async def _ado_one(self, op: Op) -> Any:
        return (await self.abatch([op]))[0]

    def __refreshes(self, refresh_ttl: bool | None) -> bool:
        if refresh_ttl is not None:
            return refresh_ttl
        config = self.ttl_config
        return config is None or config.get("refresh_on_read", True)

    def _checked_ttl(self, ttl: float | NotProvided | None) -> float | None:
        if isinstance(ttl, NotProvided):
            return (self.ttl_config or {}).get("default_ttl")
        if ttl is not None and not self.supports_ttl:
            raise NotSupportedError(
                f"Items of {type(self).__name__} cannot expire (ttl={ttl!r}). Use a store that "
                "supports a ttl, such as SqliteStore, or leave it out."
            )
        return ttl


def _listing(
    prefix: NamespacePath | None,
    suffix: NamespacePath | None,
    max_depth: int | None,
    limit: int,
    offset: int,
) -> ListNamespacesOp:
    conditions: list[MatchCondition] = []
    if prefix:
        conditions.append(MatchCondition("prefix", checked(prefix)))
    if suffix:
        conditions.append(MatchCondition("suffix", checked(suffix)))
    return ListNamespacesOp(tuple(conditions), max_depth, limit, offset)
