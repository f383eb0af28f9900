"""Timeouts and error handlers of nodes."""

import asyncio
import operator
from typing import Annotated, TypedDict

from langgraph.errors import NodeError, NodeTimeoutError
from langgraph.func import task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, TimeoutPolicy, interrupt

FAST = {"initial_interval": 0.001, "backoff_factor": 1.0, "jitter": False}
CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class AppError(Exception):
    """An error of the program's own."""


def add(value):
    return lambda state: {"items": [value]}


async def case_b36_timeout_of_an_async_node(env):
    async def slow(state):
        await asyncio.sleep(60)

    builder = StateGraph(State)
    builder.add_node("slow", slow, timeout=0.05)
    builder.add_edge(START, "slow")
    error = await env.aerror(builder.compile().ainvoke({"items": []}))
    return error, issubclass(NodeTimeoutError, TimeoutError)


def case_b36_timeout_of_a_sync_node(env):
    def build():
        builder = StateGraph(State)
        builder.add_node("sync", add("a"), timeout=1)
        builder.add_edge(START, "sync")
        return builder.compile() and "compiled"

    return env.error(build)


def case_b36_timeout_of_a_sync_task(env):
    def build():
        @task(timeout=1)
        def work():
            return 1

        return "declared"

    return env.error(build)


async def case_timeout_is_retried(env):
    calls = []

    async def slow_once(state):
        calls.append(1)
        if len(calls) == 1:
            await asyncio.sleep(60)
        return {"items": [len(calls)]}

    builder = StateGraph(State)
    builder.add_node(
        "slow", slow_once, timeout=TimeoutPolicy(run_timeout=0.3), retry_policy=RetryPolicy(**FAST)
    )
    builder.add_edge(START, "slow")
    return await builder.compile().ainvoke({"items": []})


def handled(saver, node, handler, **options):
    builder = StateGraph(State)
    builder.add_node("work", node, error_handler=handler, **options)
    builder.add_node("next", add("next"))
    builder.add_node("other", add("other"))
    builder.add_edge(START, "work")
    builder.add_edge("work", "next")
    return builder.compile(checkpointer=saver)


def case_b38_handler_runs_after_the_retries(env):
    calls = []

    def node(state):
        calls.append("node")
        raise AppError("bad")

    def handler(state, error: NodeError):
        calls.append("handler")
        return {"items": [f"{error.node}: {error.error}"]}

    policy = RetryPolicy(max_attempts=3, **FAST)
    graph = handled(env.saver(), node, handler, retry_policy=policy)
    return graph.invoke({"items": []}, CONFIG), calls, graph.get_state(CONFIG).next


def case_b38_handler_returns_a_command(env):
    def node(state):
        raise AppError("bad")

    def handler(state, error: NodeError):
        return Command(goto="other", update={"items": ["handled"]})

    return handled(env.saver(), node, handler).invoke({"items": []}, CONFIG)


def case_b38_handler_does_not_swallow_a_question(env):
    calls = []

    def node(state):
        return {"items": [interrupt("q")]}

    def handler(state, error: NodeError):
        calls.append("handler")
        return {}

    graph = handled(env.saver(), node, handler)
    return graph.invoke({"items": []}, CONFIG), graph.invoke(Command(resume="A"), CONFIG), calls


def case_b38_crashed_handler_is_resumed_itself(env):
    calls = []

    def node(state):
        calls.append("node")
        raise AppError("bad")

    def handler(state, error: NodeError):
        calls.append("handler")
        if calls.count("handler") == 1:
            raise ValueError("handler crashed")
        return {"items": ["handled"]}

    graph = handled(env.saver(), node, handler)
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG))
    return error, graph.invoke(None, CONFIG), calls


def case_b38_handler_is_not_called_without_an_error(env):
    def handler(state, error: NodeError):
        return {"items": ["handler"]}

    return handled(None, add("fine"), handler).invoke({"items": []})
