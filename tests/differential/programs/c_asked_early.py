"""Questions while other tasks of a super-step still run: what states and streams say of them."""

import asyncio
import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from .waiting import until

CONFIG = {"configurable": {"thread_id": "1"}}
SYNC = {"durability": "sync"}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    who: str


def seen(graph):
    """The tasks of the state as soon as it has a question."""
    until(lambda: any(t.interrupts for t in graph.get_state(CONFIG).tasks))
    tasks = graph.get_state(CONFIG).tasks
    return [(t.name, [i.value for i in t.interrupts], t.result) for t in tasks]


def ask(state):
    return {"items": [interrupt("sure?")]}


def beside(saver, **nodes):
    builder = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder.compile(checkpointer=saver)


def with_watcher(saver, found, **nodes):
    def watch(state):
        found.append(seen(graph))
        return {"items": ["watched"]}

    graph = beside(saver, **nodes, watch=watch)
    return graph


def case_state(env):
    found = []
    graph = with_watcher(env.saver(), found, ask=ask)
    asked = graph.invoke({"items": []}, CONFIG, **SYNC)
    return found, asked, graph.invoke(Command(resume="yes"), CONFIG)


def case_streams(env):
    found = []
    graph = with_watcher(env.saver(), found, ask=ask)
    modes = ["updates", "values", "tasks"]
    parts = list(graph.stream({"items": []}, CONFIG, stream_mode=modes, **SYNC))
    return found, parts


async def case_streams_async(env):
    async with env.asaver() as saver:
        told = asyncio.Event()

        async def slow(state):
            await told.wait()
            return {"items": ["slow"]}

        async def aask(state):
            return {"items": [interrupt("sure?")]}

        graph = beside(saver, ask=aask, slow=slow)
        parts = []
        stream = graph.astream({"items": []}, CONFIG, stream_mode="updates", **SYNC)
        async with asyncio.timeout(20):
            async for part in stream:
                parts.append(part)
                if "__interrupt__" in part:
                    snapshot = await graph.aget_state(CONFIG)
                    parts.append(snapshot.interrupts)
                    told.set()
        return parts, await graph.ainvoke(Command(resume="yes"), CONFIG)


def case_sends(env):
    found = []

    def work(state):
        if state["who"] == "watcher":
            found.append(seen(graph))
            return {"items": ["watched"]}
        return {"items": [interrupt(f"{state['who']}?")]}

    builder = StateGraph(State).add_node("work", work)
    builder.add_conditional_edges(
        START, lambda state: [Send("work", {"who": who}) for who in ("ada", "watcher")], ["work"]
    )
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG, **SYNC), found


def case_inside_a_subgraph(env):
    found = []

    def watch(state):
        found.append(seen(graph))
        return {"items": ["watched"]}

    inner = StateGraph(State).add_node("inner", ask).add_edge(START, "inner").compile()
    graph = beside(env.saver(), nest=inner, watch=watch)
    asked = graph.invoke({"items": []}, CONFIG, **SYNC)
    return found, asked, graph.invoke(Command(resume="yes"), CONFIG)


def case_another_fails_after_it(env):
    def fail(state):
        raise ValueError(seen(graph))

    graph = beside(env.saver(), ask=ask, fail=fail)
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    snapshot = graph.get_state(CONFIG)
    return error, snapshot.next, [(t.name, t.error, t.interrupts) for t in snapshot.tasks]


def case_streams_of_one_that_fails(env):
    def fail(state):
        seen(graph)
        raise ValueError("late")

    graph = beside(env.saver(), ask=ask, fail=fail)
    parts = []

    def run():
        for part in graph.stream({"items": []}, CONFIG, stream_mode="updates", **SYNC):
            parts.append(part)

    return env.error(run), parts
