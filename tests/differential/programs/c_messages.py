"""The stream mode `messages`: tokens of models, messages that nodes return, and their metadata."""

import operator
from dataclasses import dataclass
from typing import Annotated, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableLambda
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import push_message
from langgraph.types import Command, Send, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
MODES = ("values", "updates", "custom", "tasks", "checkpoints", "debug")


def model(*texts, **fields):
    return GenericFakeChatModel(messages=iter([AIMessage(t) for t in texts]), **fields)


def graph_of(*pairs, schema=MessagesState, **compiled):
    """Nodes one after the other."""
    builder = StateGraph(schema)
    before = START
    for name, action in pairs:
        builder.add_node(name, action)
        builder.add_edge(before, name)
        before = name
    return builder.compile(**compiled)


def says(*texts, **fields):
    said = model(*texts, **fields)
    return lambda state: {"messages": [said.invoke(state["messages"])]}


def asays(*texts):
    said = model(*texts)

    async def node(state):
        return {"messages": [await said.ainvoke(state["messages"])]}

    return node


def gives(*messages):
    return lambda state: {"messages": list(messages)}


def plain(part):
    """A part without what each side tells tracers, and without task ids in paths."""
    if isinstance(part, dict):
        return {k: plain(v) for k, v in part.items()}
    if isinstance(part, tuple) and len(part) == 2 and hasattr(part[0], "content"):
        message, metadata = part
        kept = {k: v for k, v in metadata.items() if not k.startswith(("ls_", "lc_"))}
        return (type(message).__name__, message, getattr(message, "chunk_position", None), kept)
    if isinstance(part, tuple):
        return tuple(plain(item) for item in part)
    return part


def parts(graph, given=None, config=None, **options):
    options.setdefault("stream_mode", "messages")
    given = {"messages": [HumanMessage("hi", id="in")]} if given is None else given
    return [plain(part) for part in graph.stream(given, config, **options)]


async def aparts(graph, given=None, config=None, **options):
    options.setdefault("stream_mode", "messages")
    given = {"messages": [HumanMessage("hi", id="in")]} if given is None else given
    return [plain(part) async for part in graph.astream(given, config, **options)]


def short(found):
    """Class, text and node of each part."""
    return [(p[0], p[1].content, p[3]["langgraph_node"]) for p in found]


def case_tokens_of_a_model(env):
    config = {"tags": ["t"], "metadata": {"k": 1}}
    return parts(graph_of(("a", says("hello there"))), config=config)


async def case_tokens_of_a_model_async(env):
    return await aparts(graph_of(("a", asays("hello there"))))


async def case_sync_node_in_an_async_run(env):
    return await aparts(graph_of(("a", says("hello there"))))


def case_config_is_passed_on(env):
    said = model("one two", "three")

    def node(state, config):
        return {"messages": [said.invoke("x", config), said.invoke("y", {"tags": ["own"]})]}

    return parts(graph_of(("n", node)), config={"tags": ["run"]})


def case_model_is_streamed_by_the_node(env):
    said = model("one two")

    def node(state):
        total = None
        for chunk in said.stream("x", stop=["."]):
            total = chunk if total is None else total + chunk
        return {"messages": [total]}

    return parts(graph_of(("n", node)))


async def case_model_is_streamed_by_an_async_node(env):
    said = model("one two")

    async def node(state):
        return {"messages": [chunk async for chunk in said.astream("x")][:1]}

    return await aparts(graph_of(("n", node)))


def case_model_without_tokens(env):
    said = model("one two", disable_streaming=True)
    heard = model("not returned", disable_streaming=True)
    graph = graph_of(
        ("a", lambda s: {"messages": [said.invoke("x")]}), ("b", lambda s: heard.invoke("x") and {})
    )
    return parts(graph)


def case_v2(env):
    return parts(graph_of(("a", says("one two"))), version="v2")


def case_v2_of_nested_graphs(env):
    graph = graph_of(("sub", graph_of(("a", says("one two")))))
    return parts(graph, version="v2", subgraphs=True, stream_mode=["messages", "updates"])


def case_beside_each_other_mode(env):
    found = []
    for mode in MODES:
        graph = graph_of(("a", says("one two")), ("b", gives(AIMessage("b", id="b"))))
        stream = graph.stream({"messages": []}, stream_mode=[mode, "messages"])
        found.append([part[0] for part in stream])
    return found


def case_all_modes_but_debug(env):
    graph = graph_of(("a", says("one two")))
    modes = ["values", "updates", "custom", "messages", "tasks"]
    return [part[0] for part in graph.stream({"messages": []}, stream_mode=modes)]


def case_values_and_updates(env):
    graph = graph_of(("a", says("one two")), ("b", gives(AIMessage("b", id="b"))))
    return parts(graph, stream_mode=["values", "messages", "updates"])


# --- what nodes return ----------------------------------------------------------------------------


def case_messages_that_are_returned(env):
    messages = (
        AIMessage("one", id="1"),
        HumanMessage("two", id="2"),
        ToolMessage("three", tool_call_id="c", id="3"),
        AIMessage("no id"),
        AIMessageChunk("chunk", id="4"),
    )
    return parts(graph_of(("n", gives(*messages))))


def case_removals(env):
    first = gives(AIMessage("one", id="1"))
    return parts(graph_of(("n", first), ("r", gives(RemoveMessage(id="1")))))


def case_input_is_not_told(env):
    graph = graph_of(
        ("same", lambda s: {"messages": [*s["messages"], AIMessage("new", id="n")]}),
        ("changed", lambda s: {"messages": [AIMessage("changed", id="n")]}),
    )
    return parts(graph)


def case_history_is_not_told(env):
    graph = graph_of(("n", lambda s: {"messages": s["messages"]}), checkpointer=env.saver())
    graph.invoke({"messages": [AIMessage("old", id="old")]}, CONFIG)
    return parts(graph, {"messages": [HumanMessage("new", id="new")]}, CONFIG)


class Loose(TypedDict, total=False):
    messages: Annotated[list, operator.add]
    other: object


@dataclass
class Object:
    messages: Annotated[list, operator.add]
    other: object = None


def returning(value, schema=Loose):
    return graph_of(("n", lambda state: value), schema=schema)


def case_forms_of_results(env):
    one = lambda: AIMessage("x", id="1")  # noqa: E731
    forms = [
        {"other": one()},
        {"other": [1, one()]},
        {"other": (one(),)},
        {"other": {"deep": one()}},
        {"other": [[one()]]},
        {"messages": [("user", "hi")]},
        {"messages": [{"role": "user", "content": "hi"}]},
        Command(update={"messages": [one()]}),
        [Command(update={"messages": [one()]})],
        [Command(update={"messages": [one()]}), {"other": AIMessage("y", id="2")}],
        {"messages": [one(), one()]},
    ]
    return [short(parts(returning(form), {"messages": []})) for form in forms]


def case_objects_as_results(env):
    value = Object([AIMessage("x", id="1")], AIMessage("y", id="2"))
    return short(parts(returning(value, Object), {"messages": []}))


def case_pushed_messages(env):
    def node(state):
        push_message(AIMessage("p", id="p"))
        push_message(AIMessage("q", id="q"), state_key=None)
        return {"messages": [AIMessage("q", id="q"), AIMessage("r", id="r")]}

    return parts(graph_of(("n", node)), stream_mode=["messages", "updates"])


def case_pushed_messages_of_nested_graphs(env):
    def node(state):
        push_message(AIMessage("p", id="p"))
        return {}

    graph = graph_of(("sub", graph_of(("n", node))))
    return [parts(graph, subgraphs=subgraphs) for subgraphs in (False, True)]


# --- tags -----------------------------------------------------------------------------------------


def case_nostream_tags(env):
    of_call, of_model = model("a b"), model("c d", tags=["nostream"])
    graph = graph_of(
        ("call", lambda s: {"messages": [of_call.invoke("x", {"tags": ["nostream"]})]}),
        ("model", lambda s: {"messages": [of_model.invoke("x")]}),
        ("hidden", lambda s: model("e f", tags=["nostream"]).invoke("x") and {}),
    )
    return parts(graph)


def case_nostream_of_a_runnable(env):
    said = model("c d")
    node = RunnableLambda(lambda s: {"messages": [said.invoke("x")]}).with_config(tags=["nostream"])
    return parts(graph_of(("n", node)))


def case_nostream_of_the_run(env):
    return parts(graph_of(("n", says("a b"))), config={"tags": ["nostream"]})


# --- nested graphs, functional API, routes, fan-out -----------------------------------------------


def case_nested_graphs(env):
    found = []
    for options in ({}, {"subgraphs": True}, {"subgraphs": True, "stream_mode": ["messages"]}):
        first, second = (
            graph_of(("inner", says(text)), ("plain", gives(AIMessage("p", id=f"p{text}"))))
            for text in ("in sub", "in call")
        )
        graph = graph_of(("sub", first), ("call", lambda s, g=second: g.invoke(s)))
        found.append(parts(graph, **options))
    return found


async def case_nested_graphs_async(env):
    inner = graph_of(("inner", asays("in sub")), ("plain", gives(AIMessage("p", id="p"))))
    return await aparts(graph_of(("sub", inner)), subgraphs=True)


def case_three_levels(env):
    graph = graph_of(("a", graph_of(("b", graph_of(("c", says("deep words")))))))
    return parts(graph, subgraphs=True)


def case_streams_inside_nodes(env):
    inner = graph_of(("inner", says("in sub")))
    seen = []

    def node(state):
        seen.extend(p[0].content for p in inner.stream(state, stream_mode="messages"))
        return {"messages": [AIMessage("out", id="out")]}

    return parts(graph_of(("n", node))), seen


def case_tasks(env):
    said = model("c d")

    @task
    def talk(x):
        return said.invoke(x)

    @task
    def ready(x):
        return AIMessage("t", id="t")

    @entrypoint()
    def work(x):
        ready(1).result()
        return [talk(x).result(), AIMessage("w", id="w")]

    return short(parts(work, "x"))


def case_tasks_of_nodes(env):
    @task
    def ready(x):
        return AIMessage("t", id="t")

    graph = graph_of(("n", lambda s: {"messages": [ready(1).result()]}))
    return short(parts(graph))


def case_what_an_entrypoint_saves(env):
    @entrypoint()
    def work(x):
        return entrypoint.final(value=AIMessage("v", id="v"), save=AIMessage("s", id="s"))

    return short(parts(work, "x"))


def case_models_in_path_functions(env):
    said = model("a b", "c d")

    def route(state):
        said.invoke("x")
        return "n"

    def end(state):
        said.invoke("x")
        return END

    builder = StateGraph(MessagesState)
    builder.add_node("n", lambda s: {})
    builder.add_conditional_edges(START, route, ["n"])
    builder.add_conditional_edges("n", end, [END])
    return parts(builder.compile())


def case_fan_out(env):
    said = {name: model(f"{name}1 {name}2") for name in "ab"}
    builder = StateGraph(MessagesState)
    builder.add_node("n", lambda s: {"messages": [said[s["who"]].invoke("x")]})
    builder.add_conditional_edges(START, lambda s: [Send("n", {"who": n}) for n in "ab"], ["n"])
    found = parts(builder.compile())
    order = [p[1].content for p in found]  # each model's tokens keep their order
    return [[text for text in order if text[:1] == name] for name in "ab"]


def case_questions(env):
    said = model("c d", "e f")

    def ask(state):
        said.invoke("x")
        return {"messages": [AIMessage(interrupt("?"), id="v")]}

    graph = graph_of(("n", ask), checkpointer=env.saver())
    modes = ["messages", "updates", "values"]
    first = parts(graph, {"messages": []}, CONFIG, stream_mode=modes)
    return first, parts(graph, Command(resume="A"), CONFIG, stream_mode=modes)


def case_questions_of_nested_graphs(env):
    said = model("c d", "e f")

    def ask(state):
        said.invoke("x")
        return {"messages": [AIMessage(interrupt("?"), id="v")]}

    inner = graph_of(("n", ask))
    graph = graph_of(("sub", inner), checkpointer=env.saver())
    first = parts(graph, {"messages": []}, CONFIG, subgraphs=True)
    return first, parts(graph, Command(resume="A"), CONFIG, subgraphs=True)


def case_errors_of_models(env):
    said = model("one two")

    def node(state):
        for chunk in said.stream("x"):
            raise ValueError(chunk.content)

    def consume():
        for part in graph_of(("n", node)).stream({"messages": []}, stream_mode="messages"):
            found.append(part[0].content)

    found = []
    return env.error(consume), found


def case_invoke(env):
    graph = graph_of(("a", says("one two")))
    return [plain(p) for p in graph.invoke({"messages": []}, stream_mode="messages")]


async def case_ainvoke(env):
    graph = graph_of(("a", asays("one two")))
    found = await graph.ainvoke({"messages": []}, stream_mode=["messages", "updates"])
    return [plain(p) for p in found]
