"""A stream whose parts are taken by different asyncio tasks: its nodes run where it is driven."""

import asyncio
from operator import add
from typing import Annotated, Any, TypedDict

from tests.loops import plain_loop

from plait.checkpoint.memory import InMemorySaver
from plait.graph import START, StateGraph
from plait.types import Command, interrupt


class State(TypedDict):
    said: Annotated[list[str], add]


async def first(state: State) -> dict[str, list[str]]:
    return {"said": ["first"]}


async def asks(state: State) -> dict[str, list[str]]:
    one, other = interrupt("one?"), interrupt("other?")
    return {"said": [one, other]}


async def last(state: State) -> dict[str, list[str]]:
    current = asyncio.current_task()
    return {"said": ["" if current is None else current.get_name()]}


async def taken_by_tasks(stream: Any) -> list[Any]:
    """The parts of a stream, each taken by a task of its own."""
    parts: list[Any] = []
    while True:
        task = asyncio.create_task(anext(stream), name=f"task {len(parts)}")
        await asyncio.wait([task])
        try:
            parts.append(task.result())
        except StopAsyncIteration:
            return parts


@plain_loop
async def test_a_node_asks_in_order_whichever_task_drives_it() -> None:
    nodes: Any = [first, asks, last]
    builder = StateGraph(State).add_sequence(nodes).add_edge(START, "first")
    graph, config = builder.compile(InMemorySaver()), {"configurable": {"thread_id": "1"}}
    told = await taken_by_tasks(graph.astream({"said": []}, config, stream_mode="updates"))
    assert [[*part] for part in told] == [["first"], ["__interrupt__"]]
    told = await taken_by_tasks(graph.astream(Command(resume="1"), config, stream_mode="updates"))
    assert [[*part] for part in told] == [["__interrupt__"]]
    told = await taken_by_tasks(graph.astream(Command(resume="2"), config, stream_mode="updates"))
    assert told == [{"asks": {"said": ["1", "2"]}}, {"last": {"said": ["task 1"]}}]
