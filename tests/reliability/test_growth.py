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

from plait.agents import create_agent
from plait.agents.middleware import HumanInTheLoopMiddleware
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import START, StateGraph
from plait.graph.message import MessagesState
from plait.language_models import FakeMessagesListChatModel
from plait.messages import AIMessage, HumanMessage
from plait.prebuilt import create_react_agent
from plait.tools import tool
from plait.types import Command, Send, interrupt

STEP = 40
BEND = 1.15
"""How much more work as many more may be, the second time."""
THREAD: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 10_000}
IN_TURN: Any = {**THREAD, "max_concurrency": 1}
"""Of tasks on threads it is chance which end together, and so are acknowledged at once."""


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
    return lambda: graph.invoke({"items": []}, IN_TURN)


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
    return lambda: graph.invoke({"messages": []}, IN_TURN)


def questions(count: int, saver: Any) -> Callable[[], Any]:
    graph = spread(count, lambda state: {"items": [interrupt(state["n"])]}).compile(saver)

    def run() -> None:
        asked = graph.invoke({"items": []}, IN_TURN)["__interrupt__"]
        answers = {each.id: each.value for each in asked}
        assert len(graph.invoke(Command(resume=answers), IN_TURN)["items"]) == count

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


class Caller(FakeMessagesListChatModel):
    """Takes whatever tools there are."""

    def bind_tools(self, tools: Any, **options: Any) -> Caller:
        return self


def agent(count: int, saver: Any, *middleware: Any, direct: bool = False) -> Any:
    """An agent whose model calls a tool so many times in one turn."""

    @tool(return_direct=direct)
    async def look(n: int) -> str:
        """Look it up."""
        return f"found {n}"

    calls: Any = [{"name": "look", "args": {"n": n}, "id": str(n)} for n in range(count)]
    model = Caller(responses=[AIMessage("", tool_calls=calls), AIMessage("done")])
    return create_agent(model, [look], middleware=middleware, checkpointer=saver)


def tool_calls(count: int, saver: Any) -> Callable[[], Any]:
    return lambda: asyncio.run(agent(count, saver).ainvoke({"messages": ["go"]}, THREAD))


def direct_tool_calls(count: int, saver: Any) -> Callable[[], Any]:
    ends = agent(count, saver, direct=True)
    return lambda: asyncio.run(ends.ainvoke({"messages": ["go"]}, THREAD))


def calls_beside_a_direct_tool(count: int, saver: Any) -> Callable[[], Any]:
    @tool(return_direct=True)
    async def finish() -> str:
        """Say the last word."""
        return "finished"

    @tool
    async def look(n: int) -> str:
        """Look it up."""
        return f"found {n}"

    calls: Any = [{"name": "look", "args": {"n": n}, "id": str(n)} for n in range(count)]
    model = Caller(responses=[AIMessage("", tool_calls=calls), AIMessage("done")])
    reacts = create_react_agent(model, [look, finish], checkpointer=saver)
    return lambda: asyncio.run(reacts.ainvoke({"messages": ["go"]}, THREAD))


def reviews(count: int, saver: Any) -> Callable[[], Any]:
    async def run() -> None:
        looked_at = agent(count, saver, HumanInTheLoopMiddleware(interrupt_on={"look": True}))
        await looked_at.ainvoke({"messages": ["go"]}, THREAD)
        decisions = [{"type": "approve"}] * count
        await looked_at.ainvoke(Command(resume={"decisions": decisions}), THREAD)

    return lambda: asyncio.run(run())


ENGINE = [fan_out, async_fan_out, messages, questions, turns, steps, keys, nodes]
AGENTS = [tool_calls, direct_tool_calls, calls_beside_a_direct_tool, reviews]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("workload", [*ENGINE, *AGENTS])
def test_work_is_a_straight_line_over_what_there_is_to_do(
    workload: Any, kind: str, tmp_path: Path
) -> None:
    def cost(count: int, name: str) -> int:
        saver = InMemorySaver() if kind == "memory" else SqliteSaver(tmp_path / name)
        return counted(workload(count, saver))

    cost(1, "loads what is loaded on first use")
    costs = [cost(times * STEP, f"{times}.db") for times in (1, 2, 3)]
    first, second = costs[1] - costs[0], costs[2] - costs[1]
    assert second < BEND * first, f"{first:,} bytecodes for {STEP} more, then {second:,}"
