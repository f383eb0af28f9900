"""Every stream mode alone and in pairs, over routes, fan-out, nested graphs and questions."""

import itertools
import operator
from typing import Annotated, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.func import task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, StreamWriter, interrupt

MODES = ("values", "updates", "custom", "messages", "tasks", "checkpoints", "debug")
CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    xs: Annotated[list, operator.add]
    messages: Annotated[list, add_messages]


def talker(name):
    """A node that writes custom data, calls a model, and updates the state."""
    said = GenericFakeChatModel(messages=itertools.cycle([AIMessage(f"{name}1 {name}2")]))

    def talk(state, writer: StreamWriter):
        writer({name: "before"})
        answer = said.invoke("x")
        get_stream_writer()(f"{name} after")
        return {"xs": [name], "messages": [AIMessage(answer.content, id=f"{name}-{answer.id}")]}

    return talk


def atalker(name):
    said = GenericFakeChatModel(messages=itertools.cycle([AIMessage(f"{name}1 {name}2")]))

    async def talk(state, writer: StreamWriter):
        writer({name: "before"})
        answer = await said.ainvoke("x")
        get_stream_writer()(f"{name} after")
        return {"xs": [name], "messages": [answer]}

    return talk


def chain(*pairs, **compiled):
    builder = StateGraph(State)
    before = START
    for name, action in pairs:
        builder.add_node(name, action)
        builder.add_edge(before, name)
        before = name
    return builder.compile(**compiled)


def plain(part):
    """A part without what each side tells tracers, and without paths and namespaces of tasks."""
    if isinstance(part, tuple):
        return tuple(plain(item) for item in part)
    if isinstance(part, dict) and "langgraph_node" in part:
        return {k: v for k, v in part.items() if not k.startswith(("ls_", "lc_"))}
    if isinstance(part, dict):
        return {k: plain(v) for k, v in part.items()}
    return part


def names(part):
    """Only the mode and what kind of thing it is, for modes whose payloads others compare."""
    mode, payload = part[-2:]
    if mode == "messages":
        return mode, payload[0].content, payload[1]["langgraph_node"]
    if mode == "debug":
        return mode, payload["type"]
    if mode == "tasks":
        return mode, payload["name"], "input" in payload
    if mode == "checkpoints":
        return mode, payload["next"]
    return mode, plain(payload)


def case_each_mode_alone(env):
    found = {}
    for mode in MODES:
        graph = chain(("a", talker("a")), ("b", talker("b")))
        found[mode] = [names((mode, p)) for p in graph.stream({"xs": []}, stream_mode=mode)]
    return found


def case_pairs(env):
    found = {}
    for pair in itertools.permutations(MODES, 2):
        graph = chain(("a", talker("a")), ("b", talker("b")))
        found[pair] = [names(p) for p in graph.stream({"xs": []}, stream_mode=list(pair))]
    return found


async def case_pairs_async(env):
    found = {}
    for pair in itertools.combinations(MODES, 2):
        graph = chain(("a", atalker("a")), ("b", atalker("b")))
        stream = graph.astream({"xs": []}, stream_mode=list(pair))
        found[pair] = [names(p) async for p in stream]
    return found


def case_pairs_with_a_saver(env):
    found = {}
    for number, pair in enumerate(itertools.combinations(MODES, 2)):
        graph = chain(("a", talker("a")), ("b", talker("b")), checkpointer=env.saver())
        config = {"configurable": {"thread_id": str(number)}}
        found[pair] = [names(p) for p in graph.stream({"xs": []}, config, stream_mode=list(pair))]
    return found


def fan_out(**compiled):
    builder = StateGraph(State)
    builder.add_node("one", talker("one"))
    builder.add_node("two", talker("two"))
    builder.add_node("last", talker("last"))
    builder.add_conditional_edges(START, lambda s: [Send("one", {}), "two"], ["one", "two"])
    builder.add_edge(["one", "two"], "last")
    return builder.compile(**compiled)


def of_node(found, name):
    return [part for part in found if name in str(part)]


def case_fan_out_in_pairs(env):
    """The parts of one task keep their order; tasks run beside each other."""
    found = {}
    for pair in itertools.combinations(("updates", "custom", "messages", "tasks"), 2):
        parts = [names(p) for p in fan_out().stream({"xs": []}, stream_mode=list(pair))]
        found[pair] = [of_node(parts, name) for name in ("one", "two", "last")]
    return found


def nested(make):
    inner = chain(("a", make("a")), ("b", make("b")))
    return chain(("before", make("before")), ("sub", inner))


def case_nested_in_pairs(env):
    found = {}
    for subgraphs in (False, True):
        for pair in itertools.combinations(MODES, 2):
            stream = nested(talker).stream({"xs": []}, stream_mode=list(pair), subgraphs=subgraphs)
            found[str((subgraphs, pair))] = [
                (p[0] if subgraphs else None, *names(p)) for p in stream
            ]
    return found


async def case_nested_async(env):
    modes = ["values", "updates", "custom", "messages"]
    stream = nested(atalker).astream({"xs": []}, stream_mode=modes, subgraphs=True)
    return [(p[0], *names(p)) async for p in stream]


def case_questions_in_pairs(env):
    found = {}
    for number, pair in enumerate(itertools.combinations(MODES, 2)):
        config = {"configurable": {"thread_id": str(number)}}
        graph = chain(
            ("a", talker("a")),
            ("ask", lambda s: {"xs": [interrupt("?")]}),
            checkpointer=env.saver(),
        )
        modes = list(pair)
        found[pair] = [
            [names(p) for p in graph.stream(given, config, stream_mode=modes)]
            for given in ({"xs": []}, Command(resume="!"))
        ]
    return found


def case_writers_in_tasks(env):
    @task
    def work(n):
        get_stream_writer()(n)
        return n

    graph = chain(("a", lambda s: {"xs": [work(1).result(), work(2).result()]}))
    return [names(p) for p in graph.stream({"xs": []}, stream_mode=["custom", "updates"])]


def case_v2_in_pairs(env):
    found = {}
    for pair in itertools.combinations(("values", "updates", "custom", "messages"), 2):
        stream = nested(talker).stream(
            {"xs": []}, stream_mode=list(pair), subgraphs=True, version="v2"
        )
        found[pair] = [plain(p) for p in stream]
    return found
