"""Work grows with what there is to do, and no faster: bytecodes are counted, not seconds."""

from __future__ import annotations

import asyncio
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import START, StateGraph
from plait.graph.message import MessagesState
from plait.messages import HumanMessage
from plait.types import Command, Send, interrupt

SMALL, LARGE = 60, 240
SLACK = 1.25
"""By how much the work for each may grow from the small case to the large one."""
THREAD: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 10_000}


class State(TypedDict, total=False):
    """Items that come together."""

    items: Annotated[list[Any], operator.add]
    n: int


def counted(work: Callable[[], Any]) -> int:
    """How many bytecodes this thread runs for it."""
    total = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal total
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        total += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return total


def spread(count: int, node: Any) -> Any:
    """A super-step of so many tasks."""
    builder = StateGraph(State).add_node("work", node)
    return builder.add_conditional_edges(
        START, lambda state: [Send("work", {"n": n}) for n in range(count)], ["work"]
    )


def fan_out(count: int, saver: Any) -> Callable[[], Any]:
    graph = spread(count, lambda state: {"items": [state["n"] + 10_000]}).compile(saver)
    return lambda: graph.invoke({"items": []}, THREAD)


def async_fan_out(count: int, saver: Any) -> Callable[[], Any]:
    async def work(state: State) -> State:
        return {"items": [f"item {state['n']}"]}

    graph = spread(count, work).compile(saver)
    return lambda: asyncio.run(graph.ainvoke({"items": []}, THREAD))


def messages(count: int, saver: Any) -> Callable[[], Any]:
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": [HumanMessage(str(state["n"]))]})
    graph = builder.add_conditional_edges(
        START, lambda state: [Send("say", {"n": n}) for n in range(count)], ["say"]
    ).compile(saver)
    return lambda: graph.invoke({"messages": []}, THREAD)


def questions(count: int, saver: Any) -> Callable[[], Any]:
    graph = spread(count, lambda state: {"items": [interrupt(state["n"])]}).compile(saver)

    def run() -> None:
        asked = graph.invoke({"items": []}, THREAD)["__interrupt__"]
        answers = {each.id: each.value for each in asked}
        assert len(graph.invoke(Command(resume=answers), THREAD)["items"]) == count

    return run


def turns(count: int, saver: Any) -> Callable[[], Any]:
    builder = StateGraph(State).add_node("work", lambda state: {"items": ["said"]})
    graph = builder.add_edge(START, "work").compile(saver)
    return lambda: [graph.invoke({"n": n}, THREAD) for n in range(count)]


def steps(count: int, saver: Any) -> Callable[[], Any]:
    builder = StateGraph(State).add_node("work", lambda state: {"n": state["n"] + 1})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda state: "work" if state["n"] < count else "__end__")
    graph = builder.compile(saver)
    return lambda: graph.invoke({"n": 0}, THREAD)


def keys(count: int, saver: Any) -> Callable[[], Any]:
    schema: Any = TypedDict("schema", {f"k{n}": int for n in range(count)})  # type: ignore
    builder = StateGraph(schema)
    builder.add_node("all", lambda state: {f"k{n}": n for n in range(count)})
    builder.add_node("one", lambda state: {"k0": 1})
    graph = builder.add_edge(START, "all").add_edge("all", "one").compile(saver)

    def run() -> None:
        graph.invoke({"k0": 0}, THREAD)
        assert len(graph.get_state(THREAD).values) == count
        assert len(list(graph.get_state_history(THREAD))) == 4

    return run


def nodes(count: int, saver: Any) -> Callable[[], Any]:
    builder = StateGraph(State)
    for n in range(count):
        builder.add_node(f"n{n}", lambda state: {"n": 1})
        builder.add_edge(f"n{n - 1}" if n else START, f"n{n}")

    return lambda: builder.compile(saver).invoke({"n": 0}, THREAD)


WORKLOADS = [fan_out, async_fan_out, messages, questions, turns, steps, keys, nodes]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_work_for_each_does_not_grow_with_their_number(
    workload: Any, kind: str, tmp_path: Path
) -> None:
    def cost(count: int, name: str) -> float:
        saver = InMemorySaver() if kind == "memory" else SqliteSaver(tmp_path / name)
        return counted(workload(count, saver)) / count

    cost(1, "loads what is loaded on first use")
    small, large = cost(SMALL, "small"), cost(LARGE, "large")
    assert large < SLACK * small, f"{small:.0f} -> {large:.0f} bytecodes for each"
