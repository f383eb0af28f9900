"""The Postgres saver keeps the promises of the public suite, under every way to open it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.postgres.aio import AsyncPostgresSaver
from plait.testing import NativeSaverConformance

from .server import Server


class OverPostgres:
    server: Server

    @pytest.fixture(autouse=True)
    def use(self, postgres_server: Server) -> None:
        self.server = postgres_server


class TestSync(OverPostgres, NativeSaverConformance):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        with self.server.database() as url, PostgresSaver.from_conn_string(url) as saver:
            yield saver


class TestAsync(OverPostgres, NativeSaverConformance):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        with self.server.database() as url:
            async with AsyncPostgresSaver.from_conn_string(url) as saver:
                await saver.setup()
                yield saver


class TestPoolOfTheUser(OverPostgres, NativeSaverConformance):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        with (
            self.server.database() as url,
            ConnectionPool(url, min_size=1, max_size=2) as pool,
            PostgresSaver(pool) as saver,
        ):
            yield saver


class TestConnectionOfTheUser(OverPostgres, NativeSaverConformance):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        with self.server.database() as url, psycopg.connect(url) as conn:
            yield PostgresSaver(conn)
