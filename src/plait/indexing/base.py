"""What indexing works with: records of what was indexed when, and indexes of documents."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypedDict

from plait.documents import Document
from plait.errors import InvalidValueError
from plait.retrievers import BaseRetriever
from plait.runnables.config import run_in_executor


class UpsertResponse(TypedDict):
    """What became of documents that were to be written, by their ids."""

    succeeded: list[str]
    failed: list[str]


class DeleteResponse(TypedDict, total=False):
    """What became of documents that were to be deleted, as far as the index says."""

    num_deleted: int
    succeeded: Sequence[str]
    failed: Sequence[str]
    num_failed: int


class RecordManager(ABC):
    """Remembers which keys were indexed, when, and from which source (the group of a key).

    A subclass defines the sync methods; their async twins run them on threads unless they are
    overridden.

    Args:
        namespace: Tells its records from those of others in the same database.
    """

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    @abstractmethod
    def create_schema(self) -> None:
        """Make what the records are kept in, if it is not there."""

    @abstractmethod
    def get_time(self) -> float:
        """The time of the machine that keeps the records, in seconds; it never goes back."""

    @abstractmethod
    def update(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        """Note that keys were indexed now.

        Args:
            keys: The keys.
            group_ids: The group of each.
            time_at_least: The time must not be before this.

        Raises:
            ValueError: There are not as many groups as keys, or the clock went back.
        """

    @abstractmethod
    def exists(self, keys: Sequence[str]) -> list[bool]:
        """Whether each key is known."""

    @abstractmethod
    def list_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """The keys that were indexed before or after a time, in these groups, up to a limit."""

    @abstractmethod
    def delete_keys(self, keys: Sequence[str]) -> None:
        """Forget keys."""

    async def acreate_schema(self) -> None:
        """The async twin of `create_schema`."""
        await run_in_executor(None, self.create_schema)

    async def aget_time(self) -> float:
        """The async twin of `get_time`."""
        return await run_in_executor(None, self.get_time)

    async def aupdate(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        """The async twin of `update`."""
        given: Any = {"group_ids": group_ids, "time_at_least": time_at_least}
        await run_in_executor(None, self.update, keys, **given)

    async def aexists(self, keys: Sequence[str]) -> list[bool]:
        """The async twin of `exists`."""
        return await run_in_executor(None, self.exists, keys)

    async def alist_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """The async twin of `list_keys`."""
        given: Any = {"before": before, "after": after, "group_ids": group_ids, "limit": limit}
        return await run_in_executor(None, self.list_keys, **given)

    async def adelete_keys(self, keys: Sequence[str]) -> None:
        """The async twin of `delete_keys`."""
        await run_in_executor(None, self.delete_keys, keys)


class InMemoryRecordManager(RecordManager):
    """Records in memory, for tests and programs that index anew when they start.

    >>> records = InMemoryRecordManager("docs")
    >>> records.update(["a", "b"], group_ids=["faq.md", None])
    >>> records.exists(["a", "c"]), records.list_keys(group_ids=["faq.md"])
    ([True, False], ['a'])
    """

    def __init__(self, namespace: str) -> None:
        super().__init__(namespace)
        self.records: dict[str, tuple[str | None, float]] = {}
        """Key to its group and the time when it was indexed last."""

    def create_schema(self) -> None:
        """Nothing is to be made."""

    async def acreate_schema(self) -> None:
        """Nothing is to be made."""

    def get_time(self) -> float:
        return time.time()

    def update(
        self,
        keys: Sequence[str],
        *,
        group_ids: Sequence[str | None] | None = None,
        time_at_least: float | None = None,
    ) -> None:
        groups = [None] * len(keys) if group_ids is None else group_ids
        if len(groups) != len(keys):
            raise InvalidValueError(
                f"update() got {len(keys)} keys and {len(groups)} group_ids: give each key its "
                "group (or None)."
            )
        now = self.get_time()
        if time_at_least is not None and now < time_at_least:
            raise InvalidValueError(
                f"The clock says {now}, which is before time_at_least={time_at_least}: it went "
                "back. Index again once it is right."
            )
        self.records.update(zip(keys, ((group, now) for group in groups), strict=True))

    def exists(self, keys: Sequence[str]) -> list[bool]:
        return [key in self.records for key in keys]

    def list_keys(
        self,
        *,
        before: float | None = None,
        after: float | None = None,
        group_ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[str]:
        found = [
            key
            for key, (group, indexed) in self.records.items()
            if (before is None or indexed < before)
            and (after is None or indexed > after)
            and (group_ids is None or group in group_ids)
        ]
        return found if limit is None else found[:limit]

    def delete_keys(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.records.pop(key, None)


class DocumentIndex(BaseRetriever, ABC):
    """An index that keeps documents under their ids and finds them; also a retriever."""

    @abstractmethod
    def upsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:
        """Write documents; one without an id gets one, one under a known id replaces it."""

    @abstractmethod
    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> DeleteResponse:
        """Delete documents by their ids; ids that are not there are no error."""

    @abstractmethod
    def get(self, ids: Sequence[str], /, **kwargs: Any) -> list[Document]:
        """The documents under these ids; those that are not there are left out."""

    async def aupsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:
        """The async twin of `upsert`."""
        return await run_in_executor(None, self.upsert, items, **kwargs)

    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> DeleteResponse:
        """The async twin of `delete`."""
        return await run_in_executor(None, self.delete, ids, **kwargs)

    async def aget(self, ids: Sequence[str], /, **kwargs: Any) -> list[Document]:
        """The async twin of `get`."""
        return await run_in_executor(None, self.get, ids, **kwargs)


__all__ = [
    "DeleteResponse",
    "DocumentIndex",
    "InMemoryRecordManager",
    "RecordManager",
    "UpsertResponse",
]
