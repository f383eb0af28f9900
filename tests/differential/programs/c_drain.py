"""Draining: a run is asked to stop between two of its super-steps, and can be resumed."""

import operator
from typing import Annotated, TypedDict

from langgraph.config import get_stream_writer
from langgraph.errors import GraphDrained
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import RunControl, Runtime, get_runtime
from langgraph.types import Command, RetryPolicy, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def add(value):
    return lambda state: {"items": [value]}


def drains(state, runtime: Runtime):
    runtime.control.request_drain("deploy")
    return {"items": [runtime.drain_requested, runtime.drain_reason]}


def chain(*codes, saver=None, **options):
    builder = StateGraph(State)
    builder.add_sequence([(f"n{i}", code) for i, code in enumerate(codes)])
    return builder.add_edge(START, "n0").compile(checkpointer=saver, **options)


def stopped(call):
    """What a drained run says of itself."""
    try:
        return call()
    except GraphDrained as error:
        return "drained", error.reason, str(error)


def case_control_objects(env):
    control = RunControl()
    before = (control.drain_requested, control.drain_reason)
    control.request_drain()
    first = (control.drain_requested, control.drain_reason)
    control.request_drain("deploy")
    return before, first, control.drain_reason


def case_stops_before_the_next_step(env):
    graph = chain(drains, add("b"), saver=env.saver())
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG, control=RunControl()))
    return result, graph.get_state(CONFIG), graph.invoke(None, CONFIG), graph.get_state(CONFIG).next


async def case_async(env):
    async with env.asaver() as saver:
        graph = chain(drains, add("b"), saver=saver)
        try:
            result = await graph.ainvoke({"items": []}, CONFIG, control=RunControl())
        except GraphDrained as error:
            result = error.reason
        return result, await graph.ainvoke(None, CONFIG)


def case_without_a_control_of_the_caller(env):
    graph = chain(drains, add("b"), saver=env.saver())
    return stopped(lambda: graph.invoke({"items": []}, CONFIG)), graph.invoke(None, CONFIG)


def case_asked_from_outside(env):
    control = RunControl()

    def asked(state):
        control.request_drain("outside")
        return {"items": ["a"]}

    def sees(state):
        runtime = get_runtime()
        return {"items": [runtime.drain_requested, runtime.drain_reason]}

    graph = chain(asked, sees, saver=env.saver())
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG, control=control))
    return result, graph.invoke(None, CONFIG)


def case_last_step_ends_normally(env):
    graph = chain(add("a"), drains, saver=env.saver())
    return stopped(lambda: graph.invoke({"items": []}, CONFIG)), graph.get_state(CONFIG).next


def case_asked_before_the_start(env):
    control = RunControl()
    control.request_drain()
    graph = chain(add("a"), saver=env.saver())
    result = stopped(lambda: graph.invoke({"items": ["in"]}, CONFIG, control=control))
    state = graph.get_state(CONFIG)
    return result, state.next, state.values, graph.invoke(None, CONFIG)


def case_without_a_saver(env):
    return stopped(lambda: chain(drains, add("b")).invoke({"items": []}))


def case_streams(env):
    graph = chain(drains, add("b"), saver=env.saver())
    parts = []

    def run():
        modes = ["values", "updates", "tasks"]
        for part in graph.stream({"items": []}, CONFIG, stream_mode=modes, control=RunControl()):
            parts.append(part)

    return stopped(run), parts


def case_interrupt_wins(env):
    def asks(state, runtime: Runtime):
        runtime.control.request_drain()
        return {"items": [interrupt("q")]}

    graph = chain(asks, add("b"), saver=env.saver())
    asked = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    return asked, stopped(lambda: graph.invoke(Command(resume="A"), CONFIG))


def case_breakpoint_or_drain(env):
    graph = chain(drains, add("b"), saver=env.saver(), interrupt_before=["n1"])
    return stopped(lambda: graph.invoke({"items": []}, CONFIG)), graph.get_state(CONFIG).next


def case_not_retried_and_not_handled(env):
    calls = []

    def node(state):
        calls.append(1)
        raise GraphDrained("own")

    builder = StateGraph(State)
    builder.add_node(
        "n",
        node,
        retry_policy=RetryPolicy(initial_interval=0.001),
        error_handler=lambda state: {"items": ["handled"]},
    )
    builder.add_edge(START, "n")
    return stopped(lambda: builder.compile().invoke({"items": []})), calls


def nested(env, as_node):
    inner = chain(drains, add("inner"))
    outer = inner if as_node else (lambda state: {"items": inner.invoke({"items": []})["items"]})
    return chain(outer, add("outer"), saver=env.saver())


def case_subgraph(env):
    graph = nested(env, as_node=True)
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    state = graph.get_state(CONFIG)
    return result, state.next, state.values, state.tasks[0].error, graph.invoke(None, CONFIG)


def case_graph_inside_a_node(env):
    graph = nested(env, as_node=False)
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG))
    return result, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_workflow_ends_with_its_tasks(env):
    @task
    def work(x):
        return x + 1

    @entrypoint(checkpointer=env.saver())
    def workflow(given, runtime: Runtime):
        runtime.control.request_drain()
        return work(given).result()

    return stopped(lambda: workflow.invoke(1, CONFIG))


def case_exit_durability(env):
    graph = chain(drains, add("b"), saver=env.saver())
    result = stopped(lambda: graph.invoke({"items": []}, CONFIG, durability="exit"))
    return result, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def inside(ran, saver):
    """A graph that is drained inside another, between its two nodes."""

    def first(state, runtime: Runtime):
        ran.append(1)
        write = get_stream_writer()
        write("before")
        if len(ran) == 1:
            runtime.control.request_drain("deploy")
        write("after")
        return {"items": ["first"]}

    return chain(chain(first, add("second")), add("end"), saver=saver)


def case_streams_of_a_subgraph(env):
    graph, told = inside([], env.saver()), []
    modes = ["custom", "updates", "values"]
    try:
        for part in graph.stream({"items": []}, CONFIG, stream_mode=modes, subgraphs=True):
            told.append(part)
    except GraphDrained:
        pass
    return told, list(graph.stream(None, CONFIG, stream_mode=modes, subgraphs=True))


async def case_streams_of_a_subgraph_async(env):
    told = []
    async with env.asaver() as saver:
        graph = inside([], saver)
        parts = graph.astream({"items": []}, CONFIG, stream_mode="custom", subgraphs=True)
        try:
            async for part in parts:
                told.append(part)
        except GraphDrained:
            told.append("drained")
    return told


def case_a_subgraph_with_exit_durability(env):
    ran = []
    graph = inside(ran, env.saver())
    stopped(lambda: graph.invoke({"items": []}, CONFIG, durability="exit"))
    return graph.invoke(None, CONFIG), len(ran)
