"""Runs told to stop, to tell more or less, or to go on elsewhere: options that few calls use."""

import asyncio
import operator
from dataclasses import dataclass
from typing import Annotated, TypedDict

from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Overwrite, Send, StateUpdate, StreamWriter, interrupt
from pydantic import BaseModel


class State(TypedDict, total=False):
    n: int
    log: Annotated[list, operator.add]


THREAD = {"configurable": {"thread_id": "1"}}


def says(text):
    return lambda state: {"log": [text]}


def chain_of(*names, **kwargs):
    builder = StateGraph(State)
    for before, name in zip((START, *names), names, strict=False):
        builder.add_node(name, says(name))
        builder.add_edge(before, name)
    return builder.compile(**kwargs)


def case_breakpoints_of_each_call(env):
    graph = chain_of("a", "b", "c", "d", checkpointer=env.saver())
    return (
        graph.invoke({"log": []}, THREAD, interrupt_before=["c"]),
        graph.get_state(THREAD).next,
        list(graph.stream(None, THREAD, interrupt_after=["c"], stream_mode="updates")),
        graph.get_state(THREAD).next,
        graph.invoke(None, THREAD, interrupt_before="*"),
        graph.invoke(None, THREAD),
    )


def case_updates_in_bulk_with_sends(env):
    builder = StateGraph(State)
    builder.add_node("plan", says("plan"))
    builder.add_node("work", lambda given: {"log": [given["n"]]})
    builder.add_conditional_edges(
        "plan", lambda state: [Send("work", {"n": n}) for n in (1, 2)], ["work"]
    )
    builder.add_edge(START, "plan")
    graph = builder.compile(checkpointer=env.saver())
    graph.bulk_update_state(
        THREAD,
        [
            [StateUpdate({"log": ["in"]}, "__input__")],
            [StateUpdate({"log": ["by hand"]}, "plan")],
        ],
    )
    return graph.get_state(THREAD).next, graph.invoke(None, THREAD)


def case_an_update_that_overwrites(env):
    graph = chain_of("a", "b", checkpointer=env.saver(), interrupt_before=["b"])
    graph.invoke({"log": ["x"]}, THREAD)
    graph.update_state(THREAD, {"log": Overwrite(["new"])})
    return graph.invoke(None, THREAD)


def case_the_end_of_a_thread_moved_by_hand(env):
    graph = chain_of("a", "b", checkpointer=env.saver())
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"log": ["again"]}, as_node="a")
    before = graph.get_state(THREAD).next
    graph.update_state(THREAD, None, as_node=END)
    return before, graph.get_state(THREAD).next, graph.get_state(THREAD).values


def case_limits_of_a_graph_and_of_a_call(env):
    builder = StateGraph(State)
    builder.add_node("step", lambda state: {"n": state["n"] + 1})
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if s["n"] < 6 else END)
    graph = builder.compile().with_config(recursion_limit=3)
    return (
        env.error(lambda: graph.invoke({"n": 0})),
        graph.invoke({"n": 0}, {"recursion_limit": 7}),
        env.error(lambda: graph.invoke({"n": 0}, {"recursion_limit": 6})),
        graph.invoke({"n": 4}),
    )


def case_a_limit_that_ends_a_stored_run(env):
    builder = StateGraph(State)
    builder.add_node("step", lambda state: {"n": state["n"] + 1})
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if s["n"] < 6 else END)
    graph = builder.compile(checkpointer=env.saver())
    error = env.error(lambda: graph.invoke({"n": 0}, {**THREAD, "recursion_limit": 3}))
    state = graph.get_state(THREAD)
    return error, state.values, state.next, graph.invoke(None, THREAD)


def case_output_keys_of_streams(env):
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"n": 1, "log": ["a"]})
    builder.add_node("b", lambda state: {"log": ["b"]})
    builder.add_edge(START, "a").add_edge("a", "b")
    graph = builder.compile()
    given = {"log": []}
    return [
        list(graph.stream(given, stream_mode=mode, output_keys=keys))
        for mode in ("values", "updates")
        for keys in ("n", ["n"], ["log"])
    ]


class Ask(BaseModel):
    text: str
    tries: int = 0


@dataclass
class Told:
    text: str
    tries: int


def case_schemas_of_three_kinds(env):
    class Inner(TypedDict):
        text: str
        tries: int
        secret: str

    builder = StateGraph(Inner, input_schema=Ask, output_schema=Told)
    builder.add_node("a", lambda state: {"text": state["text"].upper(), "secret": "s"})
    builder.add_node("b", lambda state: {"tries": state["tries"] + len(state["secret"])})
    builder.add_edge(START, "a").add_edge("a", "b")
    graph = builder.compile(checkpointer=env.saver())
    result = graph.invoke({"text": "hi", "tries": 1}, THREAD)
    return result, graph.get_state(THREAD).values, env.error(lambda: graph.invoke({"tries": 1}))


def case_context_in_subgraphs_and_tasks(env):
    @task
    def greet(name, runtime: Runtime):
        return f"{name} {runtime.context['user']}"

    inner = StateGraph(State, context_schema=dict)
    inner.add_node("in_", lambda state, runtime: {"log": [runtime.context["user"]]})
    inner.add_edge(START, "in_")
    builder = StateGraph(State, context_schema=dict)
    builder.add_node("sub", inner.compile())
    builder.add_node("call", lambda state: {"log": [greet("hello").result()]})
    builder.add_edge(START, "sub").add_edge("sub", "call")
    return builder.compile().invoke({"log": []}, context={"user": "ada"})


async def case_stores_in_async_nodes_beside_each_other(env):
    async def put(state, runtime: Runtime):
        await runtime.store.aput(("a",), str(state["n"]), {"n": state["n"]})
        return {"log": [state["n"]]}

    builder = StateGraph(State)
    builder.add_node("plan", lambda state: {})
    builder.add_node("put", put)
    builder.add_node("sum", sums)
    builder.add_conditional_edges(
        "plan", lambda state: [Send("put", {"n": n}) for n in range(5)], ["put"]
    )
    builder.add_edge(START, "plan").add_edge("put", "sum")
    return await builder.compile(store=InMemoryStore()).ainvoke({"log": []})


async def sums(state, runtime: Runtime):
    found = await runtime.store.asearch(("a",), filter={"n": {"$gte": 2}})
    return {"n": sum(item.value["n"] for item in found)}


def case_questions_with_ids_answered_in_turn(env):
    builder = StateGraph(State)
    for name in ("a", "b", "c"):
        builder.add_node(name, lambda state, name=name: {"log": [(name + interrupt(name))]})
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=env.saver())
    asked = graph.invoke({"log": []}, THREAD)["__interrupt__"]
    ids = {one.value: one.id for one in asked}
    graph.invoke(Command(resume={ids["b"]: "1"}), THREAD)
    left = sorted(one.value for one in graph.get_state(THREAD).interrupts)
    rest = {ids["a"]: "2", ids["c"]: "3"}
    return sorted(ids), left, graph.invoke(Command(resume=rest), THREAD)


def case_a_question_in_a_loop_until_it_is_valid(env):
    def age(state):
        question = "age?"
        while True:
            answer = interrupt(question)
            if isinstance(answer, int):
                return {"n": answer}
            question = f"{answer!r} is no age"

    builder = StateGraph(State).add_node("age", age).add_edge(START, "age")
    graph = builder.compile(checkpointer=env.saver())
    seen = [graph.invoke({"log": []}, THREAD)["__interrupt__"][0].value]
    seen.append(graph.invoke(Command(resume="x"), THREAD)["__interrupt__"][0].value)
    return seen, graph.invoke(Command(resume=5), THREAD)


def case_a_resume_with_an_update_and_a_route(env):
    builder = StateGraph(State)
    builder.add_node("asks", lambda state: {"log": [interrupt("?"), state["n"]]})
    builder.add_node("other", says("other"))
    builder.add_edge(START, "asks")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"n": 1, "log": []}, THREAD)
    return graph.invoke(Command(resume="r", update={"n": 2}), THREAD)


def case_copies_of_a_graph_with_other_configs(env):
    def node(state, config):
        return {"log": [config["configurable"].get("k"), sorted(config.get("tags") or [])]}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
    one = graph.with_config(configurable={"k": 1}, tags=["one"])
    two = one.with_config({"configurable": {"k": 2}, "tags": ["two"]})
    return [each.invoke({"log": []})["log"] for each in (graph, one, two)]


async def case_async_workflows_with_parallel_tasks_and_streams(env):
    @task
    async def double(n):
        await asyncio.sleep(0)
        return n * 2

    @entrypoint()
    async def flow(numbers: list, *, writer: StreamWriter):
        writer("begin")
        return sum(await asyncio.gather(*(double(n) for n in numbers)))

    modes = ["custom", "updates"]
    parts = [part async for part in flow.astream([1, 2, 3], stream_mode=modes)]
    return sorted(map(repr, parts))


async def case_a_stream_left_early_and_taken_up_again(env):
    async with env.asaver() as saver:
        graph = chain_of("a", "b", "c", checkpointer=saver)
        stream = graph.astream({"log": []}, THREAD, stream_mode="updates")
        first = await anext(stream)
        await stream.aclose()
        state = await graph.aget_state(THREAD)
        return first, await graph.ainvoke(None, THREAD), len(state.values["log"]) in (0, 1, 2)


def case_pictures_of_nested_graphs(env):
    inner = chain_of("x", "y")
    builder = StateGraph(State)
    builder.add_node("sub", inner)
    builder.add_node("last", says("last"))
    builder.add_edge(START, "sub")
    builder.add_conditional_edges("sub", lambda state: "last", {"last": "last", "stop": END})
    graph = builder.compile(interrupt_before=["last"])
    return graph.get_graph().draw_mermaid(), graph.get_graph(xray=True).draw_mermaid()


def case_entries_of_configurable_beside_it(env):
    def tell(state, config):
        return {"log": [config["configurable"].get(key) for key in ("model", "user")]}

    def graph(node=tell):
        return StateGraph(State).add_node("tell", node).add_edge(START, "tell").compile()

    top, filed = {"model": "top"}, {"configurable": {"model": "filed", "user": "ann"}}
    called = graph(lambda state: {"log": [graph().invoke(state, top)["log"]]})
    return [
        graph().invoke({}, {**top, **filed})["log"],
        graph().with_config(filed).invoke({}, top)["log"],
        graph().with_config(top).invoke({}, filed)["log"],
        called.invoke({}, filed)["log"],
        graph(graph().with_config(top)).invoke({}, filed)["log"],
    ]


def case_entries_that_a_schema_of_a_config_shows(env):
    graph = chain_of("a")
    return graph.get_config_jsonschema(include=["configurable", "tags"])
