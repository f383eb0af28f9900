"""What LangGraph's own tests had found of plait: streams of called graphs, mocks, spellings."""

import asyncio
import operator
import threading
from typing import Annotated
from unittest.mock import MagicMock, Mock

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.channels import LastValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from .scripted import model_of

CALLS = (None, {"configurable": {"thread_id": "child"}})
THREAD = {"configurable": {"thread_id": "parent"}}
MODES = ["messages", "tools"]


class State(TypedDict):
    n: int


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


def talk(state):
    echo.invoke({"text": "done"})
    return {"messages": [GenericFakeChatModel(messages=iter(["one two"])).invoke("hi")]}


async def atalk(state):
    await echo.ainvoke({"text": "done"})
    model = GenericFakeChatModel(messages=iter(["one two"]))
    return {"messages": [await model.ainvoke("hi")]}


def one(node):
    return StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()


def told(part):
    ns, mode, data = part if len(part) == 3 else ((), *part)
    names = tuple(level.split(":")[0] for level in ns)
    return names, data[0].content if mode == "messages" else data["event"]


def case_a_node_streams_a_graph_of_its_own(env):
    child, found = one(talk), []
    for config in (*CALLS, THREAD):
        got = []

        def node(state, config=config, got=got):
            got.extend(child.stream({"messages": []}, config, stream_mode=MODES))
            return {}

        outside = [*one(node).stream({"messages": []}, THREAD, stream_mode=MODES)]
        found.append((outside, [*map(told, got)]))
    return found


def case_a_graph_called_on_a_thread_of_its_own(env):
    child, found = one(talk), []
    for config in CALLS:

        def node(state, config=config):
            child.invoke({"messages": []}, config)
            return {}

        for subgraphs in (False, True):
            parts = one(node).stream(
                {"messages": []}, THREAD, stream_mode=MODES, subgraphs=subgraphs
            )
            found.append([*map(told, parts)])
    return found


def case_a_graph_called_on_the_callers_thread_by_its_name(env):
    child = one(talk)

    def node(state):
        child.invoke({"messages": []}, THREAD)
        return {}

    parts = one(node).stream({"messages": []}, THREAD, stream_mode=MODES, subgraphs=True)
    return [*map(told, parts)]


def two_tasks(seconds):
    """Two tasks, of which the second tells whether something was seen meanwhile."""
    seen = threading.Event()

    @task
    def first():
        return 1

    @task
    def second():
        return seen.wait(seconds)

    return first, second, seen


def case_ends_of_tasks_that_a_lone_node_calls(env):
    first, second, seen = two_tasks(0.2)

    def node(state):
        first().result()
        return {"n": int(second().result())}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
    return heard(graph.stream({"n": 0}, stream_mode="updates"), seen)


async def case_a_graph_called_on_a_thread_of_its_own_async(env):
    child = one(atalk)

    async def node(state):
        await child.ainvoke({"messages": []}, CALLS[1])
        return {}

    parts = one(node).astream({"messages": []}, THREAD, stream_mode=MODES, subgraphs=True)
    return [told(part) async for part in parts]


def case_mocks_are_functions(env):
    node = MagicMock(return_value={"n": 5})
    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
    add_one = Mock(side_effect=lambda n: n + 1)
    pregel = Pregel(
        nodes={"one": NodeBuilder().subscribe_only("input").do(add_one).write_to("output")},
        channels={"input": LastValue(int), "output": LastValue(int)},
        input_channels="input",
        output_channels="output",
    )
    chain = RunnableLambda(lambda n: n) | add_one
    return [graph.invoke({"n": 1}), pregel.invoke(2), chain.invoke(3), add_one.call_count]


def case_prompts_that_return_runnables(env):
    def prompt(state):
        return SystemMessage("Be kind.") + state["messages"]

    model = model_of("done")
    create_react_agent(model, [], prompt=prompt).invoke({"messages": [HumanMessage("hi")]})
    return model.seen


class Log(TypedDict):
    log: Annotated[list, operator.add]
    extra: str


class Inner(TypedDict):
    log: Annotated[list, operator.add]
    own: str


def case_states_of_graphs_that_no_node_declares(env):
    child = StateGraph(Inner).add_node("c", lambda state: {"log": ["c"], "own": "x"})
    hidden = {"child": child.add_edge(START, "c").compile()}

    def call(state):
        hidden["child"].invoke({"log": ["in"]})
        return {"log": ["p"]}

    inner = StateGraph(Log).add_node("call", call).add_edge(START, "call")
    outer = StateGraph(Log).add_node("inner", inner.compile()).add_edge(START, "inner")
    found = []
    for builder in (inner, outer):
        saver = env.saver()
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"log": ["a"], "extra": "e"}, THREAD)
        places = {each.config["configurable"]["checkpoint_ns"] for each in saver.list(None)}
        for ns in sorted(places, key=len)[1:]:
            config = {"configurable": {"thread_id": "parent", "checkpoint_ns": ns}}
            names = [level.split(":")[0] for level in ns.split("|")]
            state = graph.get_state(config, subgraphs=True)
            history = [each.values for each in graph.get_state_history(config)]
            found.append((names, state.values, state.next, state.tasks, history))
            if names[-1] == "call":
                with pytest.raises(ValueError, match="call"):
                    graph.update_state(config, {"log": ["u"]})
    return found


def heard(parts, seen):
    """The parts of a stream, during which the end of `first` is noted as soon as it is told."""
    found = []
    for part in parts:
        found.append(part)
        if "first" in part:
            seen.set()
    return found


def case_ends_of_called_tasks_are_told_at_once(env):
    first, second, seen = two_tasks(20)

    @entrypoint()
    def flow(given):
        first().result()
        return second().result()

    return heard(flow.stream(0), seen)


async def case_ends_of_called_tasks_are_told_at_once_async(env):
    seen = asyncio.Event()

    @task
    async def first():
        return 1

    @task
    async def second():
        await asyncio.wait_for(seen.wait(), 20)
        return 2

    @entrypoint()
    async def flow(given):
        await first()
        return await second()

    found = []
    async for part in flow.astream(0, stream_mode="updates"):
        found.append(part)
        if "first" in part:
            seen.set()
    return found


async def case_a_call_that_is_cancelled_stops(env):
    made, stopped = [], []

    @task
    async def work(number):
        made.append(number)
        try:
            await asyncio.sleep(0 if number == 0 else 20)
        except asyncio.CancelledError:
            stopped.append(number)
            raise
        return number

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(given):
        calls = [work(number) for number in range(3)]
        first = await calls[0]
        cancelled = [call.cancel() for call in calls[1:2]]
        try:
            await asyncio.wait_for(calls[2], 0.01)
        except TimeoutError:
            cancelled.append("late")
        return first, cancelled, interrupt("go on?")

    parts = [[*part] async for part in flow.astream(0, THREAD)]
    again = await flow.ainvoke(Command(resume="yes"), THREAD)
    return parts, again, sorted(made), sorted(stopped)


def case_a_value_at_a_static_breakpoint_goes_on(env):
    def builder_of(*names):
        builder = StateGraph(State)
        for name in names:
            builder.add_node(name, lambda state: {"n": state["n"] + 1})
        return chained(builder, names)

    inner = builder_of("a", "b").compile(interrupt_before=["b"])
    found = []
    for number, graph in enumerate(
        [
            builder_of("a", "b").compile(env.saver(), interrupt_before=["b"]),
            builder_of("a", "b").compile(env.saver(), interrupt_after=["a"]),
            builder_of("a", "b").compile(env.saver(), interrupt_before="*"),
            chained(StateGraph(State).add_node("inner", inner), ["inner"]).compile(env.saver()),
        ]
    ):
        config = {"configurable": {"thread_id": str(number)}}
        stopped = graph.invoke({"n": 0}, config)
        went = [graph.invoke(Command(resume="go"), config)]
        if graph.get_state(config).next:
            went.append(graph.invoke(Command(resume="go"), config))
        found.append((stopped, went, graph.get_state(config).next))
    return found


def chained(builder, names):
    for one, other in zip([START, *names], names, strict=False):
        builder.add_edge(one, other)
    return builder


def case_dicts_as_nodes(env):
    builder = StateGraph(State).add_node("node", {"n": lambda state: state["n"] + 1})
    return builder.add_edge(START, "node").compile().invoke({"n": 1})
