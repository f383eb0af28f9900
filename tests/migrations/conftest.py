"""Every promise over both savers, sync and async."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver

THREAD: Any = {"configurable": {"thread_id": "order-7"}}


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A saver that outlives the code that stored into it."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    with SqliteSaver(tmp_path / "threads.db") as sqlite:
        yield sqlite


class Caller:
    """Calls graphs one way or the other."""

    def __init__(self, way: str) -> None:
        self.way = way

    def invoke(self, graph: Any, given: Any, config: Any = THREAD, **options: Any) -> Any:
        if self.way == "sync":
            return graph.invoke(given, config, **options)
        return asyncio.run(graph.ainvoke(given, config, **options))

    def state(self, graph: Any, config: Any = THREAD, **options: Any) -> Any:
        if self.way == "sync":
            return graph.get_state(config, **options)
        return asyncio.run(graph.aget_state(config, **options))

    def update(self, graph: Any, config: Any, values: Any, **options: Any) -> Any:
        if self.way == "sync":
            return graph.update_state(config, values, **options)
        return asyncio.run(graph.aupdate_state(config, values, **options))


@pytest.fixture(params=["sync", "async"])
def caller(request: pytest.FixtureRequest) -> Caller:
    """How the test calls its graphs."""
    return Caller(request.param)
