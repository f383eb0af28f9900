"""What generated programs (`tests/differential/random/graphs`) found, each as small as it gets."""

import asyncio
import operator
from dataclasses import dataclass, field
from typing import Annotated, TypedDict

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, StateUpdate, interrupt
from pydantic import BaseModel

CONFIG = {"configurable": {"thread_id": "t"}}


class Log(TypedDict, total=False):
    log: Annotated[list, operator.add]
    n: int


@dataclass
class Record:
    a: str = ""
    n: int = 0


class Model(BaseModel):
    a: str = ""
    n: int = 0


def _of_objects(schema):
    b = StateGraph(schema)
    b.add_node("x", lambda state: {"a": state.a + "x"})
    b.add_edge(START, "x")
    return b.compile()


def case_inputs_of_tasks_are_what_nodes_are_handed(env):
    return [
        list(_of_objects(schema).stream({"a": "in"}, stream_mode=["tasks", "debug"]))
        for schema in (Record, Model)
    ]


def case_callbacks_are_told_what_nodes_are_handed(env):
    told = []

    class Handler(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, **kwargs):
            told.append((kwargs.get("name") == "x", inputs))

    for schema in (Record, Model):
        _of_objects(schema).invoke({"a": "in"}, {"callbacks": [Handler()]})
    return told


def _chain(saver, **kwargs):
    b = StateGraph(Log)
    for name in "abc":
        b.add_node(name, lambda state, name=name: {"log": [name]})
    b.add_edge(START, "a")
    b.add_edge(START, "b")
    b.add_edge("a", "c")
    return b.compile(checkpointer=saver, **kwargs)


def case_what_a_task_did_stays_after_a_fork_in_its_name(env):
    graph = _chain(env.saver())
    graph.invoke({"log": ["in"]}, CONFIG)
    done, both, entered = list(graph.get_state_history(CONFIG))[1:]
    graph.update_state(done.config, {"log": ["forked"]}, as_node="c")
    graph.update_state(both.config, {"log": ["forked"]}, as_node="b")
    graph.update_state(entered.config, {"n": 4})
    return list(graph.get_state_history(CONFIG))


def case_what_a_task_did_stays_after_updates_in_its_name(env):
    graph = _chain(env.saver(), interrupt_before=["c"])
    graph.invoke({"log": ["in"]}, CONFIG)
    graph.bulk_update_state(
        CONFIG, [[StateUpdate({"log": ["u"]}, "c"), StateUpdate({"log": ["v"]}, "a")]]
    )
    first = list(graph.get_state_history(CONFIG))
    graph.update_state(first[1].config, {"log": ["w"]}, as_node="c")
    return first, list(graph.get_state_history(CONFIG))


def case_a_reported_checkpoint_with_a_failed_task(env):
    calls = []

    def node(state):
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("once")
        return {"log": [interrupt("which?")]}

    b = StateGraph(Log)
    b.add_node("node", node)
    b.add_edge(START, "node")
    graph = b.compile(checkpointer=env.saver())
    first = env.error(lambda: graph.invoke({"log": ["in"]}, CONFIG))
    return first, list(graph.stream(None, CONFIG, stream_mode=["debug", "checkpoints"]))


async def case_updates_where_an_async_path_function_leads_on(env):
    async def path(state):
        return "big" if len(state["log"]) > 1 else "small"

    async def wrong(state):
        raise KeyError("no way")

    b = StateGraph(Log)
    for name in ("first", "big", "small", "lost"):
        b.add_node(name, lambda state, name=name: {"log": [name]})
    b.add_edge(START, "first")
    b.add_conditional_edges("first", path, ["big", "small"])
    b.add_conditional_edges("lost", wrong, ["big"])
    seen = []
    async with env.asaver() as saver:
        graph = b.compile(checkpointer=saver)
        for values in (["one"], ["two"]):
            await graph.aupdate_state(CONFIG, {"log": values}, as_node="first")
            seen.append((await graph.aget_state(CONFIG)).next)
        seen.append(await env.aerror(graph.aupdate_state(CONFIG, {"log": ["x"]}, as_node="lost")))
        await graph.abulk_update_state(
            CONFIG,
            [[StateUpdate({"log": ["y"]}, "first")], [StateUpdate({"log": ["z"]}, "big")]],
        )
        return seen, [snapshot async for snapshot in graph.aget_state_history(CONFIG)]


def case_sync_updates_where_an_async_path_function_leads_on(env):
    async def path(state):
        return "first"

    b = StateGraph(Log)
    b.add_node("first", lambda state: {"log": ["first"]})
    b.add_edge(START, "first")
    b.add_conditional_edges("first", path)
    graph = b.compile(checkpointer=env.saver())
    refused = env.error(lambda: graph.update_state(CONFIG, {"log": ["x"]}, as_node="first"))
    return refused, graph.get_state(CONFIG).values


def _nested(saver, levels, **breakpoints):
    b = StateGraph(Log)
    b.add_node("x", lambda state: {"log": ["x"]})
    b.add_node("y", lambda state: {"log": ["y"]})
    b.add_edge(START, "x")
    b.add_edge("x", "y")
    graph = b.compile(**breakpoints)
    for level in range(levels):
        b = StateGraph(Log)
        b.add_node(f"level{level}", graph)
        b.add_edge(START, f"level{level}")
        graph = b.compile(checkpointer=saver if level == levels - 1 else None)
    return graph


def case_breakpoints_of_graphs_inside_graphs(env):
    seen = []
    for levels in (1, 2, 3):
        for breakpoints in ({"interrupt_before": ["x"]}, {"interrupt_after": ["x", "y"]}):
            graph = _nested(env.saver(), levels, **breakpoints)
            config = {"configurable": {"thread_id": f"{levels}{breakpoints}"}}
            modes = ["updates", "values"]
            first = list(graph.stream({"log": ["in"]}, config, stream_mode=modes, subgraphs=True))
            seen.append((first, graph.get_state(config, subgraphs=True)))
            seen.append((graph.invoke(None, config), graph.get_state(config).next))
            seen.append(list(graph.stream(None, config, stream_mode=modes)))
    return seen


def _calling(saver, inner):
    b = StateGraph(Log)
    b.add_node("call", lambda state: {"log": [str(inner.invoke({"log": ["called"]}))]})
    b.add_edge(START, "call")
    return b.compile(checkpointer=saver)


def case_breakpoints_of_graphs_inside_a_called_graph(env):
    seen = []
    for levels in (1, 2):
        inner = _nested(None, levels, interrupt_before=["x"])
        graph = _calling(env.saver(f"levels{levels}"), inner)
        for value in ({"log": ["in"]}, None):
            seen.append((graph.invoke(value, CONFIG), graph.get_state(CONFIG)))
    return seen


def case_results_of_runs_that_wait_before_they_wrote_output(env):
    class Output(TypedDict, total=False):
        extra: Annotated[list, operator.add]
        plain: str

    b = StateGraph(Log, output_schema=Output)
    b.add_node("ask", lambda state: {"log": [interrupt("which?")]})
    b.add_edge(START, "ask")
    graph = b.compile(checkpointer=env.saver())
    return graph.invoke({"log": ["in"]}, CONFIG), graph.invoke({"plain": "text"}, CONFIG)


async def _beside_a_question(saver, *, fails):
    """What is told of a super-step in which one node asks at once, and the other ends later."""

    async def ask(state):
        return {"log": [interrupt("which?")]}

    async def work(state):
        for _ in range(50):
            await asyncio.sleep(0)
        if fails:
            raise ValueError("always")

    b = StateGraph(Log)
    b.add_node("ask", ask)
    b.add_node("work", work)
    b.add_edge(START, "ask")
    b.add_edge(START, "work")
    graph = b.compile(checkpointer=saver)
    told = []
    try:
        async for part in graph.astream({"log": ["in"]}, CONFIG, stream_mode=["updates", "values"]):
            told.append(part)
    except ValueError:
        told.append("failed")
    return told


async def case_questions_beside_a_task_that_fails(env):
    async with env.asaver() as saver:
        return await _beside_a_question(saver, fails=True)


async def case_questions_beside_a_task_that_goes_on(env):
    async with env.asaver() as saver:
        return await _beside_a_question(saver, fails=False)


class OnlyLog(TypedDict, total=False):
    log: Annotated[list, operator.add]


@dataclass
class WideRecord:
    log: Annotated[list, operator.add] = field(default_factory=list)
    n: int = 0


class WideModel(BaseModel):
    log: Annotated[list, operator.add] = []
    n: int = 0


def case_state_objects_enter_by_the_keys_of_the_input(env):
    def inner(schema):
        b = StateGraph(schema, input_schema=OnlyLog)
        b.add_node("x", lambda state: {"log": [str(state)]})
        b.add_edge(START, "x")
        return b.compile()

    def outer(schema, inside):
        b = StateGraph(schema)
        b.add_node("inside", inner(inside))
        b.add_edge(START, "inside")
        return b.compile()

    schemas = (Log, WideRecord, WideModel)
    value = {"log": ["in"], "n": 7}
    nested = [outer(s, inside).invoke(value) for s in schemas for inside in schemas]
    objects = (WideRecord(["in"], 7), WideModel(log=["in"], n=7))
    return nested, [inner(s).invoke(given) for s in schemas for given in objects]


def case_updates_in_the_name_of_a_deferred_node(env):
    b = StateGraph(Log)
    b.add_node("last", lambda state: {"log": ["last"]}, defer=True)
    b.add_edge(START, "last")
    graph = b.compile(checkpointer=env.saver(), interrupt_before=["last"])
    graph.invoke({"log": ["in"]}, CONFIG)
    graph.update_state(CONFIG, {"log": ["by hand"]}, as_node="last")
    return graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def _waiting_to_collect(saver):
    b = StateGraph(Log)
    b.add_node("x", lambda state: {"log": ["x"]})
    b.add_node("y", lambda state: {"log": ["y"]})
    b.add_node("last", lambda state: {"log": ["last"]}, defer=True)
    b.add_edge(START, "x")
    b.add_conditional_edges("x", lambda state: "y" if state.get("n") else "last")
    graph = b.compile(checkpointer=saver, interrupt_before=["last"])
    graph.invoke({"log": ["in"]}, CONFIG)
    return graph


def case_updates_in_the_name_of_others_leave_a_deferred_node_its_turn(env):
    told = []
    for number, (values, as_node) in enumerate(
        [({"n": 1}, "x"), ({"log": ["u"]}, "x"), ({"log": ["u"]}, "y"), ({"n": 1}, None)]
    ):
        graph = _waiting_to_collect(env.saver(str(number)))
        graph.update_state(CONFIG, values, as_node=as_node)
        graph.update_state(CONFIG, {"log": ["again"]}, as_node="y")
        told.append((graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)))
        told.append(graph.get_state(CONFIG).next)
    return told


def case_a_deferred_node_that_asked_still_waits_after_an_update(env):
    b = StateGraph(Log)
    b.add_node("x", lambda state: {"log": ["x"]})
    b.add_node("last", lambda state: {"log": [interrupt("sure?")]}, defer=True)
    b.add_edge(START, "x")
    b.add_conditional_edges("x", lambda state: "x" if state.get("n") else "last")
    graph = b.compile(checkpointer=env.saver())
    graph.invoke({"log": ["in"]}, CONFIG)
    graph.update_state(CONFIG, {"log": ["u"]}, as_node="x")
    before = graph.get_state(CONFIG).next
    return before, graph.invoke(None, CONFIG), graph.invoke(Command(resume="yes"), CONFIG)


def case_a_deferred_node_beside_a_send(env):
    b = StateGraph(Log)
    b.add_node("worker", lambda state: {"log": ["worker"]})
    b.add_node("last", lambda state: {"log": [f"last of {len(state['log'])}"]}, defer=True)
    b.add_edge(START, "last")
    b.add_conditional_edges(START, lambda state: [Send("worker", {}), Send("worker", {})])
    return b.compile().invoke({"log": ["in"]})


def case_a_reported_checkpoint_with_a_task_that_wrote_nothing(env):
    b = StateGraph(Log)
    b.add_node("ask", lambda state: {"log": [interrupt("which?")]})
    b.add_node("nothing", lambda state: None)
    b.add_edge(START, "ask")
    b.add_edge(START, "nothing")
    graph = b.compile(checkpointer=env.saver())
    graph.invoke({"log": ["in"]}, CONFIG)
    return list(graph.stream(None, CONFIG, stream_mode="checkpoints"))


def case_a_bare_answer_is_for_one_question(env):
    b = StateGraph(Log)
    b.add_node("ask", lambda state: {"log": [interrupt("draft?"), interrupt("send?")]})
    b.add_edge(START, "ask")
    graph = b.compile(checkpointer=env.saver())
    graph.invoke({"log": ["in"]}, CONFIG)
    graph.invoke(Command(resume="yes"), CONFIG)
    return graph.invoke(None, CONFIG), graph.get_state(CONFIG).next


def case_an_update_after_sends(env):
    def worked(state):
        return [Send("tool", {}), Send("tool", {})] if len(state["log"]) < 6 else []

    b = StateGraph(Log)
    b.add_node("model", lambda state: {"log": ["model"]})
    b.add_node("tool", lambda state: {"log": ["tool"]})
    b.add_edge(START, "model")
    b.add_conditional_edges("model", worked, ["tool"])
    b.add_edge("tool", "model")
    graph = b.compile(checkpointer=env.saver(), interrupt_after=["tool"])
    graph.invoke({"log": ["in"]}, CONFIG)
    before = graph.get_state(CONFIG).next
    graph.update_state(CONFIG, {"n": 1})
    return before, graph.get_state(CONFIG).next


def case_states_of_classes_in_version_2(env):
    told = []
    for schema in (Record, Model):
        graph = _of_objects(schema)
        told.append(graph.invoke({"a": "in"}, version="v2"))
        told.append(graph.invoke({"n": 1}, version="v2", output_keys=["n"]))
        told.append(graph.invoke({"a": "in"}, version="v2", output_keys="a"))
        told.append(list(graph.stream({"a": "in"}, version="v2", stream_mode=["values"])))
    return told


def case_a_question_beside_a_state_of_a_class_in_version_2(env):
    b = StateGraph(Model)
    b.add_node("ask", lambda state: {"a": interrupt("which?")})
    b.add_edge(START, "ask")
    graph = b.compile(checkpointer=env.saver())
    asked = graph.invoke({"a": "in"}, CONFIG, version="v2")
    parts = list(graph.stream(None, CONFIG, version="v2", stream_mode="values"))
    done = graph.invoke(Command(resume="this"), CONFIG, version="v2")
    return asked.value, [part["data"] for part in parts], done


def case_a_state_that_fits_no_class_in_version_2(env):
    b = StateGraph(Model)
    b.add_node("x", lambda state: {"n": "none"})
    b.add_edge(START, "x")
    return env.error(lambda: b.compile().invoke({"a": "in"}, version="v2"))


async def case_async_states_of_classes_in_version_2(env):
    graph = _of_objects(Model)
    parts = [part async for part in graph.astream({"a": "in"}, version="v2", stream_mode="values")]
    return parts, await graph.ainvoke({"a": "in"}, version="v2")


def case_states_of_subgraphs_in_version_2(env):
    b = StateGraph(Log)
    b.add_node("y", lambda state: {"log": ["y"]})
    b.add_edge(START, "y")
    inner = b.compile()
    b = StateGraph(Model)
    b.add_node("x", lambda state: {"n": len(inner.invoke({"log": ["in"]})["log"])})
    b.add_edge(START, "x")
    return list(b.compile().stream({"a": "in"}, version="v2", stream_mode="values", subgraphs=True))


def case_answers_by_id_after_a_bare_answer(env):
    inner = StateGraph(Log)
    inner.add_node("ask", lambda state: {"log": [interrupt(f"question {len(state['log'])}")]})
    inner.add_edge(START, "ask")
    inner.add_conditional_edges("ask", lambda state: "ask" if len(state["log"]) < 4 else "__end__")
    b = StateGraph(Log)
    b.add_node("inner", inner.compile())
    b.add_edge(START, "inner")
    graph = b.compile(checkpointer=env.saver())
    graph.invoke({"log": ["in"]}, CONFIG)
    asked = graph.invoke(Command(resume="first"), CONFIG)["__interrupt__"]
    return graph.invoke(Command(resume={asked[0].id: "second"}), CONFIG)
