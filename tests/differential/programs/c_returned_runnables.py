"""Nodes that return a runnable: what it makes of the node's input is the node's result."""

import asyncio
from operator import add
from typing import Annotated

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict


class State(TypedDict):
    seen: Annotated[list[str], add]


async def slow(state):
    await asyncio.sleep(0)
    return {"seen": [f"slow {len(state['seen'])}"]}


async def failing(state):
    raise ValueError("no")


def returning(runnable, *more):
    """A graph of sync nodes that return runnables."""
    builder = StateGraph(State)
    for place, one in enumerate([runnable, *more]):
        builder.add_node(f"n{place}", lambda state, one=one: one)
        builder.add_edge(START, f"n{place}")
    return builder


def child_that(node):
    return StateGraph(State).add_node("inner", node).add_edge(START, "inner").compile()


async def case_async_only(env):
    graph = returning(RunnableLambda(slow)).compile()
    return await graph.ainvoke({"seen": ["a"]})


async def case_side_by_side(env):
    graph = returning(RunnableLambda(slow), RunnableLambda(slow), child_that(slow)).compile()
    return await graph.ainvoke({"seen": ["a"]})


async def case_errors(env):
    graph = returning(RunnableLambda(failing)).compile()
    return await env.aerror(graph.ainvoke({"seen": []}))


async def case_streams(env):
    async def writes(state):
        get_stream_writer()("chunk")
        return {"seen": ["w"]}

    graph = returning(RunnableLambda(writes)).compile()
    return [part async for part in graph.astream({"seen": []}, stream_mode=["custom", "updates"])]


async def case_streams_of_graphs(env):
    graph = returning(child_that(slow)).compile()
    parts = [p async for p in graph.astream({"seen": []}, stream_mode="updates", subgraphs=True)]
    return [(len(ns), update) for ns, update in parts]


async def case_questions(env):
    async def asks(state):
        return {"seen": [interrupt("?")]}

    thread = {"configurable": {"thread_id": "1"}}
    async with env.asaver() as saver:
        graph = returning(child_that(asks)).compile(checkpointer=saver)
        first = await graph.ainvoke({"seen": ["a"]}, thread)
        return first["__interrupt__"][0].value, await graph.ainvoke(Command(resume="yes"), thread)


async def case_questions_of_functions(env):
    async def asks(state):
        return {"seen": [interrupt("?"), interrupt("??")]}

    thread = {"configurable": {"thread_id": "1"}}
    async with env.asaver() as saver:
        graph = returning(RunnableLambda(asks)).compile(checkpointer=saver)
        found = [(await graph.ainvoke({"seen": ["a"]}, thread))["__interrupt__"][0].value]
        found.append((await graph.ainvoke(Command(resume="y"), thread))["__interrupt__"][0].value)
        return found, await graph.ainvoke(Command(resume="z"), thread)


async def case_handlers(env):
    class Told(BaseCallbackHandler):
        def __init__(self):
            self.events = []

        def on_chain_start(self, serialized, inputs, **kw):
            self.events.append(("start", kw.get("name"), kw.get("parent_run_id") is None))

        def on_chain_end(self, outputs, **kw):
            self.events.append(("end", outputs))

    told = Told()
    graph = returning(RunnableLambda(slow).with_config(run_name="mine")).compile()
    await graph.ainvoke({"seen": []}, {"callbacks": [told]})
    return told.events


async def case_after_the_node(env):
    builder = returning(RunnableLambda(slow))
    builder.add_conditional_edges("n0", lambda state: END if len(state["seen"]) > 3 else "n0")
    return await builder.compile().ainvoke({"seen": []})


async def case_cancelled_with_its_run(env):
    ended = []

    async def hangs(state):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    graph = returning(RunnableLambda(hangs)).compile()
    run = asyncio.ensure_future(graph.ainvoke({"seen": []}))
    await asyncio.sleep(0.2)
    run.cancel()
    return await env.aerror(run), ended
