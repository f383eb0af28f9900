"""Limits on how long nodes, tasks, workflows and super-steps may take."""

import asyncio
import operator
from datetime import timedelta
from typing import Annotated, TypedDict

from langgraph.config import get_stream_writer
from langgraph.errors import NodeTimeoutError
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy, Send, TimeoutPolicy

CONFIG = {"configurable": {"thread_id": "1"}}
FAST = RetryPolicy(initial_interval=0.001, backoff_factor=1.0, jitter=False)
SOON = 0.15


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def one(node, saver=None, **options):
    builder = StateGraph(State)
    builder.add_node("node", node, **options)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=saver)


async def never(state):
    await asyncio.sleep(60)


async def facts(awaitable):
    """What a NodeTimeoutError says."""
    try:
        return await awaitable
    except NodeTimeoutError as error:
        limits = (error.run_timeout, error.idle_timeout, error.timeout)
        return error.node, error.kind, limits, error.elapsed >= 0.04


async def case_run_timeout(env):
    return await facts(one(never, timeout=SOON).ainvoke({"items": []}))


async def case_timedelta(env):
    limit = timedelta(seconds=SOON)
    return await facts(one(never, timeout=limit).ainvoke({"items": []}))


async def case_run_and_idle_timeout(env):
    runs = TimeoutPolicy(run_timeout=SOON, idle_timeout=60)
    idles = TimeoutPolicy(run_timeout=60, idle_timeout=SOON)
    return [
        await facts(one(never, timeout=policy).ainvoke({"items": []})) for policy in (runs, idles)
    ]


async def case_quick_nodes_are_not_disturbed(env):
    async def quick(state):
        await asyncio.sleep(0)
        return {"items": ["quick"]}

    return await one(quick, timeout=60).ainvoke({"items": []})


def case_invalid_limits(env):
    return [
        env.error(lambda given=given: bool(one(never, timeout=given)))
        for given in (0, -1, timedelta(0), TimeoutPolicy(run_timeout=0), "soon")
    ]


def case_coerced_policies(env):
    coerce = TimeoutPolicy.coerce
    full = coerce(TimeoutPolicy(run_timeout=timedelta(minutes=1), idle_timeout=2))
    short = coerce(3)
    return coerce(None), (full.run_timeout, full.idle_timeout, full.refresh_on), short.run_timeout


async def case_what_the_node_makes_of_its_cancellation_does_not_count(env):
    async def returns(state):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return {"items": ["late"]}

    async def raises(state):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("late") from None

    return [await facts(one(n, timeout=SOON).ainvoke({"items": []})) for n in (returns, raises)]


async def case_cleanup_runs_before_the_error_is_raised(env):
    log = []

    async def node(state):
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            log.append("cleaned up")

    error = await env.aerror(one(node, timeout=SOON).ainvoke({"items": []}))
    return error, log


async def case_every_attempt_has_the_whole_time(env):
    attempts = []

    async def node(state, runtime: Runtime):
        attempts.append(runtime.execution_info.node_attempt)
        if len(attempts) < 3:
            await asyncio.sleep(60)
        return {"items": [len(attempts)]}

    graph = one(node, timeout=SOON, retry_policy=FAST)
    return await graph.ainvoke({"items": []}), attempts


async def case_retries_run_out(env):
    attempts = []

    async def node(state):
        attempts.append(1)
        await asyncio.sleep(60)

    graph = one(node, timeout=SOON, retry_policy=FAST)
    return await env.aerror(graph.ainvoke({"items": []})), attempts


async def case_only_matching_policies_retry(env):
    attempts = []

    async def node(state):
        attempts.append(1)
        await asyncio.sleep(60)

    graph = one(node, timeout=SOON, retry_policy=FAST._replace(retry_on=KeyError))
    return await env.aerror(graph.ainvoke({"items": []})), attempts


async def case_default_timeout_of_a_graph(env):
    async def slow_but_allowed(state):
        await asyncio.sleep(0.1)
        return {"items": ["allowed"]}

    builder = StateGraph(State)
    builder.add_node("patient", slow_but_allowed, timeout=60)
    builder.add_node("hasty", never)
    builder.add_edge(START, "patient")
    builder.add_edge("patient", "hasty")
    builder.set_node_defaults(timeout=SOON)
    seen = []

    async def drive():
        async for part in builder.compile().astream({"items": []}):
            seen.append(part)

    return await facts(drive()), seen


async def case_timeout_of_a_send(env):
    builder = StateGraph(State)
    builder.add_node("node", never, timeout=60)
    builder.add_conditional_edges(START, lambda state: [Send("node", {}, timeout=SOON)], ["node"])
    return await facts(builder.compile().ainvoke({"items": []}))


async def case_timeout_of_a_send_is_stored(env):
    async with env.asaver() as saver:
        builder = StateGraph(State)
        builder.add_node("node", never)
        builder.add_node("route", lambda state: Command(goto=Send("node", {}, timeout=SOON)))
        builder.add_edge(START, "route")
        graph = builder.compile(checkpointer=saver, interrupt_before=["node"])
        await graph.ainvoke({"items": []}, CONFIG)
        return await facts(graph.ainvoke(None, CONFIG))


async def case_timeout_of_a_task(env):
    @task(timeout=SOON)
    async def slow():
        await asyncio.sleep(60)

    @entrypoint()
    async def workflow(given):
        return await facts(slow())

    return await workflow.ainvoke(1)


async def case_timeout_of_a_workflow(env):
    @entrypoint(timeout=TimeoutPolicy(run_timeout=SOON))
    async def workflow(given):
        await asyncio.sleep(60)

    return await facts(workflow.ainvoke(1))


async def case_task_of_a_workflow_that_took_too_long(env):
    log = []

    @task
    async def slow():
        try:
            await asyncio.sleep(60)
        finally:
            log.append("stopped")

    @entrypoint(timeout=SOON)
    async def workflow(given):
        await slow()

    return await facts(workflow.ainvoke(1)), log


async def case_signs_of_life(env):
    pause, limit = 0.1, 0.4

    async def beats(state, runtime: Runtime):
        for _ in range(6):
            await asyncio.sleep(pause)
            runtime.heartbeat()
        return {"items": ["beats"]}

    async def writes(state):
        for _ in range(6):
            await asyncio.sleep(pause)
            get_stream_writer()("chunk")
        return {"items": ["writes"]}

    async def short(state):
        await asyncio.sleep(pause)

    inner = StateGraph(State).add_sequence([(f"n{i}", short) for i in range(6)])
    inner = inner.add_edge(START, "n0").compile()

    async def calls_a_graph(state):
        await inner.ainvoke({"items": []})
        return {"items": ["calls_a_graph"]}

    @task
    async def small():
        await asyncio.sleep(pause)

    async def calls_tasks(state):
        for _ in range(6):
            await small()
        return {"items": ["calls_tasks"]}

    async def silent(state):
        await asyncio.sleep(6 * pause)

    result = {}
    for node in (beats, writes, calls_a_graph, calls_tasks, silent):
        for refresh in ("auto", "heartbeat"):
            policy = TimeoutPolicy(idle_timeout=limit, refresh_on=refresh)
            graph = one(node, timeout=policy)
            result[node.__name__, refresh] = await facts(graph.ainvoke({"items": []}))
    return result


async def case_siblings_keep_what_they_did(env):
    done = []

    async def quick(state):
        done.append("quick")
        return {"items": ["quick"]}

    async def slow_once(state):
        done.append("slow")
        if done.count("slow") == 1:
            await asyncio.sleep(60)
        return {"items": ["slow"]}

    async with env.asaver() as saver:
        builder = StateGraph(State)
        builder.add_node("quick", quick)
        builder.add_node("slow", slow_once, timeout=SOON)
        builder.add_edge(START, "quick")
        builder.add_edge(START, "slow")
        graph = builder.compile(checkpointer=saver)
        error = await env.aerror(graph.ainvoke({"items": []}, CONFIG))
        return error, await graph.ainvoke(None, CONFIG), sorted(done)


async def case_step_timeout_is_not_retried(env):
    attempts = []

    async def node(state):
        attempts.append(1)
        await asyncio.sleep(60)

    graph = one(node, retry_policy=FAST)
    graph.step_timeout = SOON
    return await env.aerror(graph.ainvoke({"items": []})), attempts


async def case_step_timeout_counts_for_each_step(env):
    async def short(state):
        await asyncio.sleep(0.1)
        return {"items": [1]}

    builder = StateGraph(State).add_sequence([(f"n{i}", short) for i in range(5)])
    graph = builder.add_edge(START, "n0").compile()
    graph.step_timeout = 0.45
    return await graph.ainvoke({"items": []})


async def case_step_timeout_can_be_resumed(env):
    calls = []

    async def slow_once(state):
        calls.append(1)
        if len(calls) == 1:
            await asyncio.sleep(60)
        return {"items": ["done"]}

    async with env.asaver() as saver:
        graph = one(slow_once, saver)
        graph.step_timeout = SOON
        error = await env.aerror(graph.ainvoke({"items": []}, CONFIG))
        return error, (await graph.aget_state(CONFIG)).next, await graph.ainvoke(None, CONFIG)
