"""Drain where it meets other things: failures, questions, deferred nodes, subgraphs, streams."""

import asyncio
import operator
import threading
from typing import Annotated, TypedDict

from langgraph.cache.memory import InMemoryCache
from langgraph.errors import GraphDrained, NodeError
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import RunControl, Runtime, get_runtime
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def add(*values):
    return lambda state: {"items": list(values)}


def drains(state, runtime: Runtime):
    runtime.control.request_drain("deploy")
    return {"items": ["drains"]}


def graph_of(nodes, edges, saver=None, **options):
    builder = StateGraph(State)
    for name, node in nodes.items():
        code, kw = node if isinstance(node, tuple) else (node, {})
        builder.add_node(name, code, **kw)
    for edge in edges:
        builder.add_edge(*edge)
    return builder.compile(checkpointer=saver, **options)


def stopped(call):
    try:
        return call()
    except GraphDrained as error:
        return "drained", error.reason


async def astopped(coming):
    try:
        return await coming
    except GraphDrained as error:
        return "drained", error.reason


def case_siblings_of_the_one_that_drains_end(env):
    ran = []

    def other(state):
        ran.append("other")
        return {"items": ["other"]}

    nodes = {"a": drains, "b": other, "c": add("c")}
    graph = graph_of(nodes, [(START, "a"), (START, "b"), (["a", "b"], "c")], env.saver())
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    state = graph.get_state(CONFIG)
    return result, state.next, state.values, graph.invoke(None, CONFIG), ran


def case_a_drained_thread_takes_a_new_input(env):
    graph = graph_of({"a": drains, "b": add("b")}, [(START, "a"), ("a", "b")], env.saver())
    first = stopped(lambda: graph.invoke({"items": ["one"]}, CONFIG))
    second = stopped(lambda: graph.invoke({"items": ["two"]}, CONFIG))
    return first, second, graph.get_state(CONFIG).values, graph.get_state(CONFIG).next


def case_one_control_for_two_runs(env):
    control = RunControl()
    graph = graph_of({"a": add("a"), "b": add("b")}, [(START, "a"), ("a", "b")], env.saver())
    fine = graph.invoke({"items": []}, CONFIG, control=control)
    control.request_drain("stop")
    result = [
        stopped(lambda: graph.invoke({"items": ["x"]}, CONFIG, control=control)) for _ in range(2)
    ]
    return (
        fine,
        result,
        stopped(lambda: graph.invoke(None, CONFIG, control=control)),
        graph.invoke(None, CONFIG),
    )


def case_drained_before_a_breakpoint_after(env):
    graph = graph_of(
        {"a": drains, "b": add("b")}, [(START, "a"), ("a", "b")], env.saver(), interrupt_after=["a"]
    )
    return stopped(lambda: graph.invoke({"items": []}, CONFIG)), graph.get_state(CONFIG).next


def case_drained_while_sends_wait(env):
    def spread(state):
        return [Send("work", {"items": [n]}) for n in range(3)]

    builder = StateGraph(State).add_node("a", drains)
    builder.add_node("work", lambda state: {"items": [state["items"][0] * 10]})
    builder.add_edge(START, "a").add_conditional_edges("a", spread, ["work"])
    graph = builder.compile(checkpointer=env.saver())
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    return result, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_drain_by_a_command_that_goes_on(env):
    def goes(state, runtime: Runtime):
        runtime.control.request_drain("deploy")
        return Command(update={"items": ["goes"]}, goto="b")

    graph = graph_of({"a": goes, "b": add("b")}, [(START, "a")], env.saver())
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    return result, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_drain_and_a_failure_in_one_step(env):
    fails = [True]

    def failing(state):
        if fails:
            fails.clear()
            raise ValueError("boom")
        return {"items": ["mended"]}

    nodes = {"a": drains, "b": failing, "c": add("c")}
    graph = graph_of(nodes, [(START, "a"), (START, "b"), (["a", "b"], "c")], env.saver())
    in_turn = {**CONFIG, "max_concurrency": 1}  # or the drain may come after the failure
    error = env.error(lambda: graph.invoke({"items": []}, in_turn))
    return error, stopped(lambda: graph.invoke(None, CONFIG))


def case_a_failed_node_is_retried_although_drained(env):
    calls = []

    def flaky(state, runtime: Runtime):
        calls.append(1)
        if len(calls) == 1:
            runtime.control.request_drain("deploy")
            raise ValueError("once")
        return {"items": ["flaky"]}

    retry = {"retry_policy": RetryPolicy(initial_interval=0.001, retry_on=ValueError)}
    graph = graph_of({"a": (flaky, retry), "b": add("b")}, [(START, "a"), ("a", "b")], env.saver())
    return stopped(lambda: graph.invoke({"items": []}, CONFIG)), len(calls)


def case_the_handler_of_a_drained_step_runs(env):
    def fails(state, runtime: Runtime):
        runtime.control.request_drain("deploy")
        raise ValueError("boom")

    def handler(state, error: NodeError):
        return Command(update={"items": ["handled"]}, goto="b")

    graph = graph_of(
        {"a": (fails, {"error_handler": handler}), "b": add("b")}, [(START, "a")], env.saver()
    )
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    return result, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_deferred_nodes_wait_for_the_next_run(env):
    nodes = {"a": drains, "z": (add("z"), {"defer": True})}
    graph = graph_of(nodes, [(START, "a"), ("a", "z")], env.saver())
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    return result, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_cached_results_after_a_drain(env):
    ran = []

    def work(state):
        ran.append(1)
        return {"items": ["work"]}

    nodes = {"a": drains, "b": (work, {"cache_policy": CachePolicy()}), "c": add("c")}
    graph = graph_of(
        nodes, [(START, "a"), ("a", "b"), ("b", "c")], env.saver(), cache=InMemoryCache()
    )
    stopped(lambda: graph.invoke({"items": []}, CONFIG))
    return graph.invoke(None, CONFIG), len(ran)


async def case_a_task_that_is_called_after_the_drain(env):
    @task
    async def work(x):
        return x + 1

    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(given, runtime: Runtime):
            first = await work(given)
            runtime.control.request_drain()
            return [first, await work(first)]

        return await astopped(flow.ainvoke(1, CONFIG))


async def case_drained_from_another_thread(env):
    control = RunControl()

    async def slow(state):
        threading.Timer(0.05, control.request_drain, args=("timer",)).start()
        await asyncio.sleep(0.3)
        return {"items": ["slow"]}

    async with env.asaver() as saver:
        graph = graph_of({"a": slow, "b": add("b")}, [(START, "a"), ("a", "b")], saver)
        result = await astopped(graph.ainvoke({"items": []}, CONFIG, control=control))
        return result, (await graph.aget_state(CONFIG)).next, await graph.ainvoke(None, CONFIG)


async def case_events_of_a_drained_run(env):
    graph = graph_of({"a": drains, "b": add("b")}, [(START, "a"), ("a", "b")])
    names = []
    try:
        async for event in graph.astream_events({"items": []}, version="v2"):
            names.append((event["event"], event["name"]))
    except GraphDrained as error:
        names.append(error.reason)
    return names


def noting():
    """The names of the nodes that ran, and what makes nodes that note theirs there."""
    ran = []

    def note(name):
        def node(state):
            ran.append(name)
            return {"items": [name]}

        return node

    return ran, note


def case_a_graph_two_floors_down(env):
    ran, note = noting()
    deep = graph_of({"a": drains, "b": note("b")}, [(START, "a"), ("a", "b")])
    middle = graph_of({"deep": deep, "m": note("m")}, [(START, "deep"), ("deep", "m")])
    graph = graph_of(
        {"middle": middle, "end": note("end")}, [(START, "middle"), ("middle", "end")], env.saver()
    )
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    whole = graph.get_state(CONFIG, subgraphs=True)
    inner = whole.tasks[0].state
    return result, whole.next, inner.next, graph.invoke(None, CONFIG), ran


def case_a_subgraph_beside_the_one_that_drains(env):
    ran, note = noting()
    gate = threading.Event()

    def drains_first(state, runtime: Runtime):
        runtime.control.request_drain("deploy")
        gate.set()
        return {"items": ["drains"]}

    def waits(state):
        gate.wait(5)
        return {"items": ["w"]}

    inner = graph_of({"w": waits, "y": note("y")}, [(START, "w"), ("w", "y")])
    graph = graph_of(
        {"a": drains_first, "inner": inner}, [(START, "a"), (START, "inner")], env.saver()
    )
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    return result, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG), ran


def case_a_memory_subgraph_that_drains(env):
    inner = graph_of({"a": drains, "b": add("b")}, [(START, "a"), ("a", "b")], True)
    graph = graph_of({"inner": inner}, [(START, "inner")], env.saver())
    results = []
    results.append(stopped(lambda: graph.invoke({"items": []}, CONFIG)))
    results.append(stopped(lambda: graph.invoke(None, CONFIG)))
    results.append(stopped(lambda: graph.invoke({"items": ["again"]}, CONFIG)))
    return results, graph.get_state(CONFIG).next


def case_a_loop_is_drained_each_time(env):
    def loop(state, runtime: Runtime):
        runtime.control.request_drain(str(len(state["items"])))
        done = len(state["items"]) >= 3
        return Command(update={"items": ["l"]}, goto="__end__" if done else "loop")

    graph = graph_of({"loop": loop}, [(START, "loop")], env.saver())
    results = [stopped(lambda: graph.invoke({"items": []}, CONFIG))]
    while graph.get_state(CONFIG).next:
        results.append(stopped(lambda: graph.invoke(None, CONFIG)))
    return results


def case_recursion_limit_or_drain(env):
    graph = graph_of({"a": drains, "b": add("b")}, [(START, "a"), ("a", "b")], env.saver())
    return env.error(lambda: graph.invoke({"items": []}, {**CONFIG, "recursion_limit": 1}))


def case_a_question_beside_a_drain(env):
    nodes = {"a": drains, "q": lambda state: {"items": [interrupt("q")]}, "c": add("c")}
    graph = graph_of(nodes, [(START, "a"), (START, "q"), (["a", "q"], "c")], env.saver())
    asked = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    return (
        asked,
        stopped(lambda: graph.invoke(Command(resume="A"), CONFIG)),
        graph.get_state(CONFIG).next,
    )


def case_a_batch_with_one_control(env):
    control = RunControl()
    graph = graph_of({"a": add("a"), "b": add("b")}, [(START, "a"), ("a", "b")])
    control.request_drain("all")
    found = graph.batch([{"items": [n]} for n in range(3)], return_exceptions=True, control=control)
    return [type(f).__name__ for f in found]


def case_a_node_reads_the_control_in_a_tool_thread(env):
    seen = []

    def node(state):
        runtime = get_runtime()
        seen.append((runtime.drain_requested, runtime.drain_reason))
        runtime.control.request_drain("x")
        seen.append(
            (runtime.drain_requested, runtime.drain_reason, runtime.control.drain_requested)
        )
        return {"items": ["n"]}

    graph = graph_of({"a": node, "b": add("b")}, [(START, "a"), ("a", "b")])
    return stopped(lambda: graph.invoke({"items": []})), seen


async def case_drained_in_a_stream_with_async_durability(env):
    async with env.asaver() as saver:
        graph = graph_of({"a": drains, "b": add("b")}, [(START, "a"), ("a", "b")], saver)
        parts = []
        try:
            async for part in graph.astream(
                {"items": []}, CONFIG, durability="async", stream_mode="checkpoints"
            ):
                parts.append(part["next"])
        except GraphDrained:
            parts.append("drained")
        return parts, await graph.ainvoke(None, CONFIG)
