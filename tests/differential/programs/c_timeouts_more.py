"""Limits of time where they meet other things: streams, tools, retries, handlers, subgraphs."""

import asyncio
import operator
import time
from datetime import timedelta
from typing import Annotated, TypedDict

from langchain_core.callbacks.manager import adispatch_custom_event
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.errors import NodeError, NodeTimeoutError
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command, RetryPolicy, Send, TimeoutPolicy, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
FAST = RetryPolicy(initial_interval=0.001, backoff_factor=1.0, jitter=False)
SOON, PAUSE, IDLE = 0.15, 0.1, 0.35


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def one(node, saver=None, schema=State, **options):
    builder = StateGraph(schema)
    builder.add_node("node", node, **options)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=saver)


async def never(state):
    await asyncio.sleep(60)


async def facts(awaitable):
    try:
        return await awaitable
    except NodeTimeoutError as error:
        return error.node, error.kind, error.run_timeout, error.idle_timeout


IDLES = [TimeoutPolicy(idle_timeout=IDLE, refresh_on=how) for how in ("auto", "heartbeat")]


async def tried(node, schema=State, given=None):
    """What comes of a node under both kinds of idle timeout."""
    graphs = [one(node, schema=schema, timeout=policy) for policy in IDLES]
    return [await facts(graph.ainvoke(given or {"items": []})) for graph in graphs]


async def case_runnables_are_signs_of_life(env):
    step = RunnableLambda(lambda x: x)

    async def node(state):
        for n in range(6):
            await asyncio.sleep(PAUSE)
            await step.ainvoke(n)
        return {"items": ["done"]}

    return await tried(node)


async def case_custom_events_are_signs_of_life(env):
    async def node(state):
        for n in range(6):
            await asyncio.sleep(PAUSE)
            await adispatch_custom_event("tick", n)
        return {"items": ["done"]}

    return await tried(node)


async def case_tokens_are_signs_of_life(env):
    class Slow(GenericFakeChatModel):
        async def _astream(self, *args, **kwargs):
            async for chunk in super()._astream(*args, **kwargs):
                await asyncio.sleep(PAUSE)
                yield chunk

    async def node(state):
        model = Slow(messages=iter([AIMessage("one two three four")]))
        text = [chunk.content async for chunk in model.astream("hi")]
        return {"items": ["".join(text)]}

    return await tried(node)


async def case_a_beat_from_a_task_of_asyncio(env):
    async def node(state, runtime: Runtime):
        async def beats():
            while True:
                await asyncio.sleep(PAUSE)
                runtime.heartbeat()

        beating = asyncio.create_task(beats())
        await asyncio.sleep(6 * PAUSE)
        beating.cancel()
        return {"items": ["done"]}

    return await tried(node)


async def case_a_beat_from_a_thread(env):
    async def node(state, runtime: Runtime):
        def work():
            for _ in range(6):
                time.sleep(PAUSE)
                runtime.heartbeat()

        await asyncio.to_thread(work)
        return {"items": ["done"]}

    return await tried(node)


async def case_a_beat_through_get_runtime(env):
    async def node(state):
        for _ in range(6):
            await asyncio.sleep(PAUSE)
            get_runtime().heartbeat()
        return {"items": ["done"]}

    return await tried(node)


async def case_a_beat_without_a_limit(env):
    async def node(state, runtime: Runtime):
        return {"items": [runtime.heartbeat()]}

    def plain(state, runtime: Runtime):
        return {"items": [runtime.heartbeat()]}

    return await one(node).ainvoke({"items": []}), one(plain).invoke({"items": []})


async def case_a_beat_of_a_graph_inside(env):
    async def beats(state, runtime: Runtime):
        for _ in range(6):
            await asyncio.sleep(PAUSE)
            runtime.heartbeat()
        return {"items": ["inner"]}

    inner = one(beats)

    async def calls(state):
        return await inner.ainvoke({"items": []})

    return await tried(inner), await tried(calls)


async def case_a_beat_of_a_task(env):
    @task
    async def beats():
        for _ in range(6):
            await asyncio.sleep(PAUSE)
            get_runtime().heartbeat()
        return "beats"

    async def node(state):
        return {"items": [await beats()]}

    return await tried(node)


async def case_the_run_timeout_takes_no_beats(env):
    async def node(state, runtime: Runtime):
        for _ in range(10):
            await asyncio.sleep(PAUSE)
            runtime.heartbeat()

    return await facts(one(node, timeout=IDLE).ainvoke({"items": []}))


async def case_both_limits_and_beats(env):
    async def node(state, runtime: Runtime):
        for _ in range(10):
            await asyncio.sleep(PAUSE)
            runtime.heartbeat()

    policy = TimeoutPolicy(run_timeout=0.55, idle_timeout=IDLE)
    return await facts(one(node, timeout=policy).ainvoke({"items": []}))


async def case_a_handler_of_a_timeout(env):
    def handled(state, error: NodeError):
        return Command(update={"items": [type(error.error).__name__]}, goto="after")

    builder = StateGraph(State)
    builder.add_node("node", never, timeout=SOON, error_handler=handled)
    builder.add_node("after", lambda state: {"items": ["after"]})
    builder.add_edge(START, "node")
    return await builder.compile().ainvoke({"items": []})


async def case_a_question_before_the_limit(env):
    async def asks(state):
        answer = interrupt("q")
        await asyncio.sleep(60 if answer == "slow" else 0)
        return {"items": [answer]}

    async with env.asaver() as saver:
        graph = one(asks, saver, timeout=SOON)
        asked = await graph.ainvoke({"items": []}, CONFIG)
        slow = await facts(graph.ainvoke(Command(resume="slow"), CONFIG))
        return asked, slow, await facts(graph.ainvoke(None, CONFIG))


async def case_what_was_streamed_before_the_limit(env):
    async def node(state):
        get_stream_writer()("before")
        await asyncio.sleep(60)

    parts = []

    async def read():
        modes = ["custom", "updates", "values"]
        async for part in one(node, timeout=SOON).astream({"items": ["in"]}, stream_mode=modes):
            parts.append(part)

    return await facts(read()), parts


async def case_a_send_has_its_own_limit(env):
    async def work(state):
        await asyncio.sleep(state["pause"])
        return {"items": [state["pause"]]}

    class Wide(State, total=False):
        pause: float

    def spread(state):
        return [Send("work", {"pause": 0.0}), Send("work", {"pause": 0.3}, timeout=5)]

    builder = StateGraph(Wide).add_node("work", work, timeout=SOON)
    builder.add_conditional_edges(START, spread, ["work"])
    return await facts(builder.compile().ainvoke({"items": []}))


async def case_a_slow_tool(env):
    @tool
    async def slow() -> str:
        """Slow."""
        await asyncio.sleep(60)
        return "never"

    call = AIMessage("", tool_calls=[{"name": "slow", "args": {}, "id": "1", "type": "tool_call"}])
    graph = one(ToolNode([slow]), schema=MessagesState, timeout=SOON)
    return await facts(graph.ainvoke({"messages": [call]}))


async def case_a_limit_of_a_subgraph_as_a_node(env):
    async def slow(state):
        await asyncio.sleep(60)

    inner = one(slow)
    own = one(slow, timeout=SOON)
    outer = [one(inner, timeout=SOON), one(own), one(own, timeout=60)]
    return [await facts(graph.ainvoke({"items": []})) for graph in outer]


async def case_an_inner_limit_is_retried_outside(env):
    runs = []

    async def slow_once(state):
        runs.append(1)
        if len(runs) == 1:
            await asyncio.sleep(60)
        return {"items": ["inner"]}

    inner = one(slow_once, timeout=SOON)
    return await one(inner, retry_policy=FAST).ainvoke({"items": []}), len(runs)


async def case_a_caught_timeout_of_a_task(env):
    @task(timeout=SOON)
    async def slow():
        await asyncio.sleep(60)

    @entrypoint(checkpointer=None)
    async def flow(given):
        try:
            await slow()
        except NodeTimeoutError as error:
            return [error.node, isinstance(error, TimeoutError)]

    return await flow.ainvoke(1)


async def case_a_task_is_tried_again(env):
    runs = []

    @task(timeout=SOON, retry_policy=FAST)
    async def slow_once():
        runs.append(1)
        if len(runs) == 1:
            await asyncio.sleep(60)
        return "done"

    @entrypoint()
    async def flow(given):
        return await slow_once()

    return await flow.ainvoke(1), len(runs)


async def case_a_task_of_a_stored_workflow(env):
    runs = []

    @task
    async def quick():
        runs.append("quick")
        return "quick"

    @task(timeout=SOON)
    async def slow():
        runs.append("slow")
        await asyncio.sleep(60 if runs.count("slow") == 1 else 0)
        return "slow"

    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(given):
            return [await quick(), await slow()]

        first = await facts(flow.ainvoke(1, CONFIG))
        return first, await flow.ainvoke(None, CONFIG), runs


async def case_step_timeout_beside_quick_nodes(env):
    async def quick(state):
        return {"items": ["quick"]}

    async with env.asaver() as saver:
        builder = StateGraph(State).add_node("quick", quick).add_node("slow", never)
        builder.add_edge(START, "quick").add_edge(START, "slow")
        graph = builder.compile(checkpointer=saver)
        graph.step_timeout = SOON
        error = await env.aerror(graph.ainvoke({"items": []}, CONFIG))
        state = await graph.aget_state(CONFIG)
        done = [(t.name, t.result, t.error is None) for t in state.tasks]
        return error, state.next, sorted(done), state.values


def case_step_timeout_of_sync_nodes(env):
    def slow(state):
        time.sleep(0.4)
        return {"items": ["slow"]}

    builder = StateGraph(State).add_node("slow", slow).add_node("other", lambda s: {"items": ["o"]})
    builder.add_edge(START, "slow").add_edge(START, "other")
    graph = builder.compile(checkpointer=env.saver())
    graph.step_timeout = 0.1
    return env.error(lambda: graph.invoke({"items": []}, CONFIG))


async def case_step_timeout_inside(env):
    inner = one(never)
    inner.step_timeout = SOON
    outer = one(inner)
    outer.step_timeout = 60
    return await env.aerror(outer.ainvoke({"items": []}))


async def case_step_timeout_and_a_handler(env):
    builder = StateGraph(State)
    builder.add_node("node", never, error_handler=lambda state: {"items": ["handled"]})
    builder.add_edge(START, "node")
    graph = builder.compile()
    graph.step_timeout = SOON
    return await env.aerror(graph.ainvoke({"items": []}))


async def case_step_timeout_and_streams(env):
    async def quick(state):
        return {"items": ["quick"]}

    builder = StateGraph(State).add_node("quick", quick).add_node("slow", never)
    builder.add_edge(START, "quick").add_edge(START, "slow")
    graph, parts = builder.compile(), []
    graph.step_timeout = SOON

    async def read():
        async for part in graph.astream({"items": []}, stream_mode=["updates", "values"]):
            parts.append(part)

    return await env.aerror(read()), parts


async def case_readers_take_their_time(env):
    async def quick(state):
        return {"items": ["quick"]}

    builder = StateGraph(State).add_sequence([("a", quick), ("b", quick)]).add_edge(START, "a")
    builder.set_node_defaults(timeout=SOON)
    graph, parts = builder.compile(), []
    graph.step_timeout = SOON

    async def read():
        async for part in graph.astream({"items": []}, stream_mode="updates"):
            parts.append(part)
            await asyncio.sleep(0.3)

    return await env.aerror(read()), parts


async def case_the_limit_of_a_node_comes_before_the_default(env):
    builder = StateGraph(State).set_node_defaults(timeout=60)
    builder.add_node("slow", never, timeout=SOON).add_edge(START, "slow")
    try:
        await builder.compile().ainvoke({"items": []})
    except NodeTimeoutError as error:
        return error.timeout


async def case_limits_that_never_end(env):
    async def quick(state):
        await asyncio.sleep(0.01)
        return {"items": ["quick"]}

    found = []
    for limit in (float("inf"), 1e12, timedelta.max):
        for policy in (limit, TimeoutPolicy(idle_timeout=limit)):
            found.append(await one(quick, timeout=policy).ainvoke({"items": []}))
    return found


async def case_a_step_timeout_of_nothing(env):
    async def quick(state):
        await asyncio.sleep(0.01)
        return {"items": ["quick"]}

    graph = one(quick)
    graph.step_timeout = 0
    plain = one(lambda state: {"items": ["plain"]})
    plain.step_timeout = 0
    return await graph.ainvoke({"items": []}), plain.invoke({"items": []})


async def case_a_step_timeout_that_is_none(env):
    graph = one(never)
    graph.step_timeout = -1
    return await env.aerror(graph.ainvoke({"items": []}))
