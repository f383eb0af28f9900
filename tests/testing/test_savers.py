"""The public conformance suites of savers, over plait's own and over one of a third party."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver as PeersSaver

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.testing import FaultySaver, NativeSaverConformance, SaverConformance


class TestMemory(NativeSaverConformance):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        yield InMemorySaver()


class TestSqlite(NativeSaverConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.files = (tmp_path / f"{number}.db" for number in range(100))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        with SqliteSaver(next(self.files)) as saver:
            yield saver


class TestFaultlessFaultySaver(NativeSaverConformance):
    """Without a fault it is the saver that it wraps."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        yield FaultySaver(InMemorySaver())


@pytest.mark.filterwarnings("ignore::plait.errors.PlaitWarning")
class TestThePeersOwnSaver(SaverConformance):
    """The suite asks nothing that LangGraph's own saver does not keep."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        yield PeersSaver()
