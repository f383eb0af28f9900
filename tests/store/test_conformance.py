"""Both stores keep the promises of the public suite, under every name and way to open them."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from plait.store.base import BaseStore, IndexConfig, Op, Result
from plait.store.base.batch import AsyncBatchedBaseStore
from plait.store.memory import InMemoryStore
from plait.store.sqlite import SqliteStore
from plait.store.sqlite.aio import AsyncSqliteStore
from plait.testing.stores import StoreConformance


class TestMemory(StoreConformance):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[BaseStore]:
        yield InMemoryStore()

    @asynccontextmanager
    async def open_indexed(self, index: IndexConfig) -> AsyncIterator[BaseStore]:
        yield InMemoryStore(index=index)


class TestSqliteFile(StoreConformance):
    @asynccontextmanager
    async def open(self, index: IndexConfig | None = None) -> AsyncIterator[BaseStore]:
        with (
            TemporaryDirectory() as directory,
            SqliteStore.from_conn_string(str(Path(directory) / "items.db"), index=index) as store,
        ):
            yield store

    open_indexed = open


class TestSqliteInMemory(StoreConformance):
    @asynccontextmanager
    async def open(self, index: IndexConfig | None = None) -> AsyncIterator[BaseStore]:
        async with AsyncSqliteStore.from_conn_string(":memory:", index=index) as store:
            yield store

    open_indexed = open


class TestSqliteOnAConnectionOfTheUser(StoreConformance):
    """Implicit transactions and rows of another kind do not disturb it."""

    @asynccontextmanager
    async def open(self, index: IndexConfig | None = None) -> AsyncIterator[BaseStore]:
        with closing(sqlite3.connect(":memory:", check_same_thread=False)) as conn:
            conn.row_factory = sqlite3.Row
            with SqliteStore(conn, index=index) as store:
                yield store

    open_indexed = open


class Batched(AsyncBatchedBaseStore):
    def __init__(self, index: IndexConfig | None = None) -> None:
        super().__init__()
        self._inner = InMemoryStore(index=index)

    async def abatch(self, ops: Any) -> list[Result]:
        operations: list[Op] = list(ops)
        return await self._inner.abatch(operations)


class TestBatched(StoreConformance):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[BaseStore]:
        yield Batched()

    @asynccontextmanager
    async def open_indexed(self, index: IndexConfig) -> AsyncIterator[BaseStore]:
        yield Batched(index)
