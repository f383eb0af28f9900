"""Async graphs, and the promise that the order of completion never changes the result."""

import asyncio
import threading
from operator import add
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Overwrite, RetryPolicy, Send


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


def graph_of(**nodes):
    """Nodes by name, all of them entry points."""
    graph = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
    return graph


def in_reverse(names):
    """Async nodes that finish in the reverse order of their names."""
    done = {name: asyncio.Event() for name in names}
    order = []

    def node_of(name, after):
        async def node(state):
            if after:
                await done[after].wait()
            order.append(name)
            done[name].set()
            return {"log": [name]}

        return node

    later = [*names[1:], None]
    return {name: node_of(name, after) for name, after in zip(names, later, strict=True)}, order


async def case_completion_order_does_not_matter(env):
    nodes, order = in_reverse(["a", "b", "c", "d"])
    result = await graph_of(**nodes).compile().ainvoke({})
    return [result, order]


async def case_completion_order_of_updates_stream(env):
    nodes, _ = in_reverse(["a", "b", "c"])
    parts = [p async for p in graph_of(**nodes).compile().astream({})]
    return sorted(parts, key=str)


def case_completion_order_does_not_matter_in_threads(env):
    first, order = threading.Event(), []

    def a(state):
        first.wait(20)
        order.append("a")
        return {"log": ["a"]}

    def b(state):
        order.append("b")
        first.set()
        return {"log": ["b"]}

    return [graph_of(a=a, b=b).compile().invoke({}), order]


async def case_sends_finish_in_reverse(env):
    done = [asyncio.Event() for _ in range(4)]
    done[3].set()

    async def worker(i):
        if i < 3:
            await done[i + 1].wait()
        done[i].set()
        return {"log": [i]}

    graph = StateGraph(State)
    graph.add_node("w", worker)
    graph.add_conditional_edges(START, lambda s: [Send("w", i) for i in range(4)])
    return await graph.compile().ainvoke({})


async def case_gotos_finish_in_reverse(env):
    second = asyncio.Event()

    async def a(state):
        await second.wait()
        return Command(update={"log": ["a"]}, goto=Send("w", "from a"))

    async def b(state):
        second.set()
        return Command(update={"log": ["b"]}, goto=Send("w", "from b"))

    graph = graph_of(a=a, b=b)
    graph.add_node("w", lambda x: {"log": [x]})
    return await graph.compile().ainvoke({})


async def case_mixed_sync_and_async_nodes(env):
    async def slow(state):
        await asyncio.sleep(0)
        return {"log": ["async"]}

    graph = graph_of(s=lambda s: {"log": ["sync"]}, a=slow)
    graph.add_node("join", lambda s: {"n": len(s["log"])})
    graph.add_edge(["a", "s"], "join")
    return await graph.compile().ainvoke({})


async def case_sync_nodes_run_off_the_event_loop(env):
    main = threading.get_ident()

    def sync(state):
        return {"log": [threading.get_ident() == main]}

    async def on_loop(state):
        return {"log": [threading.get_ident() == main]}

    return await graph_of(a=sync, b=on_loop).compile().ainvoke({})


async def case_nodes_run_concurrently(env):
    meeting = asyncio.Barrier(3)

    async def node(state):
        async with asyncio.timeout(20):
            await meeting.wait()
        return {"log": ["met"]}

    return await graph_of(a=node, b=node, c=node).compile().ainvoke({})


def case_sync_nodes_run_concurrently(env):
    meeting = threading.Barrier(3)

    def node(state):
        meeting.wait(20)
        return {"log": ["met"]}

    return graph_of(a=node, b=node, c=node).compile().invoke({})


async def case_max_concurrency_bounds_async_tasks(env):
    running, peak = [], []

    async def worker(i):
        running.append(i)
        peak.append(len(running))
        await asyncio.sleep(0.001)
        running.remove(i)
        return {"log": [i]}

    graph = StateGraph(State)
    graph.add_node("w", worker)
    graph.add_conditional_edges(START, lambda s: [Send("w", i) for i in range(8)])
    result = await graph.compile().ainvoke({}, {"max_concurrency": 2})
    return [result, max(peak)]


async def case_loop_async(env):
    async def step(state):
        return {"n": state["n"] + 1}

    async def path(state):
        return "s" if state["n"] < 5 else END

    graph = graph_of(s=step)
    graph.add_conditional_edges("s", path)
    return [p async for p in graph.compile().astream({"n": 0}, stream_mode="values")]


async def case_overwrite_async(env):
    async def a(state):
        return {"log": ["a"]}

    async def b(state):
        return {"log": Overwrite(["b"])}

    return await graph_of(a=a, b=b).compile().ainvoke({"log": ["in"]})


async def case_two_writers_async(env):
    async def node(state):
        return {"n": 1}

    return await env.aerror(graph_of(a=node, b=node).compile().ainvoke({}))


async def case_retry_of_one_among_parallel(env):
    tries = []

    async def flaky(state):
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError
        return {"log": ["flaky"]}

    async def steady(state):
        return {"log": ["steady"]}

    graph = StateGraph(State)
    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    graph.add_node("flaky", flaky, retry_policy=policy)
    graph.add_node("steady", steady)
    graph.add_edge(START, "flaky")
    graph.add_edge(START, "steady")
    return [await graph.compile().ainvoke({}), len(tries)]


async def case_deferred_join_of_async_branches(env):
    async def step(state):
        return {"log": ["step"]}

    graph = StateGraph(State)
    for name in ("a", "b", "b2"):
        graph.add_node(name, step)
    graph.add_node("join", lambda s: {"log": ["join"]}, defer=True)
    for edge in [(START, "a"), (START, "b"), ("b", "b2"), ("a", "join"), ("b2", "join")]:
        graph.add_edge(*edge)
    return await graph.compile().ainvoke({})


async def case_break_from_astream(env):
    ran = []

    async def step(state):
        ran.append(state["n"])
        return {"n": state["n"] + 1}

    graph = StateGraph(State)
    graph.add_sequence([("a", step), ("b", step), ("c", step)])
    graph.add_edge(START, "a")
    stream = graph.compile().astream({"n": 0})
    async for part in stream:
        break
    await stream.aclose()
    return [part, ran[0]]


async def case_async_saved(env):
    async def step(state):
        return {"n": state["n"] + 1, "log": [state["n"]]}

    config = {"configurable": {"thread_id": "1"}}
    async with env.asaver() as saver:
        graph = graph_of(s=step)
        app = graph.compile(checkpointer=saver)
        first = await app.ainvoke({"n": 0}, config)
        second = await app.ainvoke({"n": 10}, config)
        return [first, second, (await app.aget_state(config)).values]


async def case_stateful_events_of_astream_values(env):
    async def a(state):
        return {"log": ["a"]}

    async def b(state):
        return {"log": ["b"]}

    app = graph_of(b=b, a=a).compile()
    return [p async for p in app.astream({"log": ["in"]}, stream_mode="values")]
