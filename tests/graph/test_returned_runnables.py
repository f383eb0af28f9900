"""A sync node of an async run that returns a runnable: it is awaited, and stopped with its task."""

import asyncio
import gc
from threading import Event
from typing import Any
from weakref import finalize

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
    given_up, dropped = Event(), Event()

    async def late(state: Any) -> Any:
        started.append(state)

    def slow(state: Any) -> Any:
        given_up.wait(20)
        made = RunnableLambda(late)
        finalize(made, dropped.set)  # once neither the thread nor a coroutine holds it
        return made

    builder = StateGraph(dict).add_node("n", slow, timeout=0.05).add_edge(START, "n")
    with pytest.raises(NodeTimeoutError):
        await builder.compile().ainvoke({"a": 1})
    given_up.set()
    while not await asyncio.to_thread(dropped.wait, 0.001):
        gc.collect()  # the frames of the refusal hold it
    assert started == []


async def test_a_timeout_stops_it() -> None:
    async def hangs(state: Any) -> Any:
        await asyncio.sleep(60)

    with pytest.raises(NodeTimeoutError):
        await asyncio.wait_for(graph_of(hangs, timeout=0.2).ainvoke({"a": 1}), 5)
