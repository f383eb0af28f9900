"""What called tasks are told of in a stream: each end at once, while the node that called it runs.

LangGraph does so in entrypoints; of a graph's node that runs alone, it tells all at its end."""

import asyncio
import threading
from typing import TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.func import task
from plait.graph import START, StateGraph

WAITS = 20.0
"""Seconds after which a part that was not told is missed."""


class State(TypedDict):
    heard: bool


@pytest.mark.parametrize("mode", ["updates", "tasks"])
@pytest.mark.parametrize("saved", [False, True])
def test_a_part_comes_while_the_node_still_runs(mode: str, saved: bool) -> None:
    told = threading.Event()

    @task
    def first() -> int:
        return 1

    @task
    def second() -> bool:
        return told.wait(WAITS)

    def node(state: State) -> State:
        first().result()
        return {"heard": second().result()}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    graph = builder.compile(InMemorySaver() if saved else None)
    config = {"configurable": {"thread_id": "1"}}
    for part in graph.stream({"heard": False}, config, stream_mode=mode):
        if "first" in part or (part.get("name") == "first" and "result" in part):
            told.set()
    assert told.is_set()
    assert part["node"] == {"heard": True} if mode == "updates" else part["result"]["heard"]


async def test_a_part_comes_while_the_async_node_still_runs() -> None:
    told = asyncio.Event()

    @task
    async def first() -> int:
        return 1

    @task
    async def second() -> bool:
        await asyncio.wait_for(told.wait(), WAITS)
        return True

    async def node(state: State) -> State:
        await first()
        return {"heard": await second()}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
    parts = []
    async for part in graph.astream({"heard": False}, stream_mode="updates"):
        parts.append(part)
        if "first" in part:
            told.set()
    assert parts == [{"first": 1}, {"second": True}, {"node": {"heard": True}}]
