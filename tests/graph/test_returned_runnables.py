"""A sync node of an async run that returns a runnable: it is awaited, and stopped with its task."""

import asyncio
import time
from typing import Any

import pytest

from plait.errors import NodeCancelledError, NodeTimeoutError
from plait.graph import START, StateGraph
from plait.runnables import RunnableLambda


def graph_of(code: Any, **options: Any) -> Any:
    builder = StateGraph(dict).add_node("n", lambda state: RunnableLambda(code), **options)
    return builder.add_edge(START, "n").compile()


async def test_code_that_cancels_itself_fails_its_node() -> None:
    async def gives_up(state: Any) -> Any:
        raise asyncio.CancelledError

    with pytest.raises(NodeCancelledError, match="'n' was cancelled by its own code"):
        await graph_of(gives_up).ainvoke({"a": 1})


async def test_a_run_that_is_cancelled_stops_it_at_once() -> None:
    ended = asyncio.Event()

    async def hangs(state: Any) -> Any:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(graph_of(hangs).ainvoke({"a": 1}), 0.2)
    assert ended.is_set()


async def test_sync_code_that_ends_after_its_timeout_starts_nothing_more() -> None:
    started: list[Any] = []

    async def late(state: Any) -> Any:
        started.append(state)

    def slow(state: Any) -> Any:

        time.sleep(0.3)
        return RunnableLambda(late)

    builder = StateGraph(dict).add_node("n", slow, timeout=0.05).add_edge(START, "n")
    with pytest.raises(NodeTimeoutError):
        await builder.compile().ainvoke({"a": 1})
    await asyncio.sleep(0.5)
    assert started == []


async def test_a_timeout_stops_it() -> None:
    async def hangs(state: Any) -> Any:
        await asyncio.sleep(60)

    with pytest.raises(NodeTimeoutError):
        await asyncio.wait_for(graph_of(hangs, timeout=0.2).ainvoke({"a": 1}), 5)
