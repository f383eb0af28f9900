"""Ordinary programs that an owner of threads must not break: half-read streams, nested runs."""

import asyncio
import operator
import threading
from contextvars import ContextVar
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
SYNC = {"durability": "sync"}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


def add(value):
    return lambda state: {"items": [value]}


def chain(saver, *nodes, **options):
    builder = StateGraph(State)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0][0])
    return builder.compile(checkpointer=saver, **options)


def abc(saver, **options):
    return chain(saver, *[(name, add(name)) for name in "abc"], **options)


def case_half_read_stream_then_none(env):
    graph = abc(env.saver())
    stream = graph.stream({"items": []}, CONFIG, **SYNC)
    first = next(stream)
    return first, graph.invoke(None, CONFIG, **SYNC)


def case_closed_stream_then_none(env):
    graph = abc(env.saver())
    stream = graph.stream({"items": []}, CONFIG, **SYNC)
    parts = [next(stream), next(stream)]
    stream.close()
    return parts, graph.invoke(None, CONFIG, **SYNC)


def case_broken_loop_then_a_new_turn(env):
    graph = abc(env.saver())
    for _part in graph.stream({"items": ["1"]}, CONFIG, **SYNC):
        break
    return graph.invoke({"items": ["2"]}, CONFIG, **SYNC)


async def case_break_from_astream_then_ainvoke(env):
    async with env.asaver() as saver:
        graph = abc(saver)
        stream = graph.astream({"items": []}, CONFIG, **SYNC)
        async for _part in stream:
            break
        await stream.aclose()
        return await graph.ainvoke(None, CONFIG, **SYNC)


def case_update_state_in_a_node(env):
    other = {"configurable": {"thread_id": "other"}}

    def node(state):
        graph.update_state(other, {"items": ["from a node"]}, as_node="a")
        return {"items": ["node"]}

    graph = chain(env.saver(), ("a", add("a")), ("node", node))
    return graph.invoke({"items": []}, CONFIG, **SYNC), graph.get_state(other)


def case_inner_invoke_on_another_thread(env):
    inner = abc(env.saver("inner"))

    def node(state):
        config = {"configurable": {"thread_id": "inner"}}
        return {"items": [len(inner.invoke({"items": []}, config)["items"])]}

    graph = chain(env.saver(), ("node", node))
    return [graph.invoke({"items": []}, CONFIG)["items"] for _ in range(2)]


def case_inner_graph_without_saver(env):
    inner = abc(None)

    def node(state):
        return {"items": inner.invoke({"items": ["inner"]})["items"]}

    graph = chain(env.saver(), ("node", node), ("z", add("z")))
    return graph.invoke({"items": []}, CONFIG), len(list(graph.get_state_history(CONFIG)))


async def case_gather_on_many_threads(env):
    async with env.asaver() as saver:
        graph = abc(saver)
        configs = [{"configurable": {"thread_id": str(n)}} for n in range(10)]
        results = await asyncio.gather(
            *[graph.ainvoke({"items": [n]}, config) for n, config in enumerate(configs)]
        )
        states = [(await graph.aget_state(config)).values for config in configs]
        return results, states


def case_threads_of_the_caller(env):
    graph = abc(env.saver())
    results = {}

    def run(n):
        results[n] = graph.invoke({"items": [n]}, {"configurable": {"thread_id": str(n)}})

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def case_one_graph_with_two_savers(env):
    return (
        abc(env.saver("one")).invoke({"items": ["1"]}, CONFIG),
        abc(env.saver("two")).invoke({"items": ["2"]}, CONFIG),
        abc(env.saver("one")).get_state(CONFIG).values,
    )


def case_invoke_and_stream_take_turns(env):
    graph = abc(env.saver())
    graph.invoke({"items": ["1"]}, CONFIG)
    list(graph.stream({"items": ["2"]}, CONFIG))
    return graph.invoke({"items": ["3"]}, CONFIG)["items"]


async def case_sync_then_async_on_one_thread(env):
    def first():
        return abc(env.saver(), interrupt_before=["b"]).invoke({"items": []}, CONFIG)

    stopped = await asyncio.to_thread(first)
    async with env.asaver() as saver:
        return stopped, await abc(saver).ainvoke(None, CONFIG)


def case_context_variables_reach_nodes(env):
    who = ContextVar("who", default="nobody")

    def node(state):
        return {"items": [who.get()]}

    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, node)
        builder.add_edge(START, name)
    graph = builder.compile()
    token = who.set("ann")
    try:
        return graph.invoke({"items": []})
    finally:
        who.reset(token)


def case_context_variables_set_in_a_node_stay_there(env):
    who = ContextVar("who", default="nobody")

    def sets(state):
        who.set("changed")
        return {"items": [who.get()]}

    graph = chain(None, ("a", sets), ("b", lambda s: {"items": [who.get()]}))
    return graph.invoke({"items": []}), who.get()


async def case_context_variables_async(env):
    who = ContextVar("who", default="nobody")

    async def sets(state):
        before = who.get()
        who.set("changed")
        return {"items": [before]}

    def looks(state):
        return {"items": [who.get()]}

    who.set("ann")
    graph = chain(None, ("a", sets), ("b", looks))
    return await graph.ainvoke({"items": []}), who.get()


def case_approval_across_processes(env):
    """Each step with its own graph and connection, as separate requests of a server would be."""

    def make():
        def approve(state):
            answer = interrupt({"approve": state["items"]})
            return Command(
                goto="done" if answer["ok"] else "redo", update={"items": [answer["by"]]}
            )

        builder = StateGraph(State)
        builder.add_node("draft", add("draft"))
        builder.add_node("approve", approve)
        builder.add_node("redo", lambda s: Command(goto="approve", update={"items": ["redo"]}))
        builder.add_node("done", add("done"))
        builder.add_edge(START, "draft")
        builder.add_edge("draft", "approve")
        return builder.compile(checkpointer=env.saver())

    log = [make().invoke({"items": []}, CONFIG)]
    for ok, by in ((False, "ann"), (False, "bob"), (True, "ann")):
        log.append(make().invoke(Command(resume={"ok": ok, "by": by}), CONFIG))
    return log, make().get_state(CONFIG).next


def case_batch(env):
    graph = abc(env.saver())
    configs = [{"configurable": {"thread_id": str(n)}} for n in range(3)]
    return graph.batch([{"items": [n]} for n in range(3)], configs)


async def case_abatch(env):
    graph = abc(None)
    return await graph.abatch([{"items": [n]} for n in range(3)])
