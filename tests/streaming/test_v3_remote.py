"""Streams of version "v3" of graphs on a server: over real sockets, by the clients of the SDK."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest

from plait.agents import create_agent
from plait.chat_models.fake import ScriptedChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.config import emit_token, get_stream_writer
from plait.errors import ConfigError
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.pregel.remote import RemoteException, RemoteGraph
from plait.stream import CustomTransformer, SubgraphRunStream
from plait.stream.transformers import SubagentTransformer
from plait.tools import tool
from plait.types import Command, interrupt

from .graph_server import GraphServer, served

pytestmark = pytest.mark.filterwarnings("ignore::plait.warnings.BetaWarning")


class Numbers(TypedDict):
    n: Annotated[list[int], operator.add]


def one(state: Numbers) -> Any:
    get_stream_writer()({"told": 1})
    return {"n": [1]}


def ask(state: Numbers) -> Any:
    return {"n": [interrupt("how many?")]}


def boom(state: Numbers) -> Any:
    raise ValueError("boom")


def chain(*nodes: Any, **compiled: Any) -> Any:
    builder = StateGraph(Numbers)
    before = START
    for node in nodes:
        name, code = node if isinstance(node, tuple) else (node.__name__, node)
        builder.add_node(name, code)
        builder.add_edge(before, name)
        before = name
    return builder.compile(**compiled)


def talker(text: str = "One two.") -> Any:
    model = ScriptedChatModel([text])
    builder = StateGraph(MessagesState)
    builder.add_node("talk", lambda state: {"messages": [model.invoke(state["messages"])]})
    return builder.add_edge(START, "talk").compile()


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def asking_agent() -> Any:
    """An agent whose tool asks a named one."""

    @tool
    def research(question: str) -> str:
        """Ask the researcher."""
        helper = create_agent(ScriptedChatModel(["Two."]), [], name="researcher")
        return helper.invoke({"messages": [("user", question)]})["messages"][-1].text

    call = {"name": "research", "args": {"question": "1 + 1?"}, "id": "c7"}
    return create_agent(ScriptedChatModel([AIMessage("", tool_calls=[call]), "It is."]), [research])


QUESTION = {"messages": [{"role": "user", "content": "go"}]}
THREAD: Any = {"configurable": {"thread_id": "1"}}


@pytest.fixture
def serve() -> Iterator[Any]:
    """A function that serves a graph and gives the server and the graph from afar."""
    open_: list[Any] = []

    def start(graph: Any) -> tuple[GraphServer, RemoteGraph]:
        context = served(graph)
        server = context.__enter__()
        open_.append(context)
        return server, RemoteGraph("helper", url=server.url, api_key="k")

    yield start
    for context in open_:
        context.__exit__(None, None, None)


def start(graph: Any, given: Any, config: Any = None, **more: Any) -> Any:
    return graph.stream_events(given, config, version="v3", **more)


def test_a_run_from_afar_has_the_projections_of_one_here(serve: Any) -> None:
    here = chain(one, ("mid", chain(one)))
    server, afar = serve(here)
    runs = start(here, {"n": [0]}), start(afar, {"n": [0]})
    assert list(runs[1].values) == list(runs[0].values)
    assert runs[1].output == runs[0].output == {"n": [0, 1, 0, 1, 1]}
    assert sorted(runs[1].extensions) == sorted([*runs[0].extensions, "tool_calls"])
    assert runs[1].interrupted is False
    (asked,) = server.requests
    assert (asked["path"], asked["key"], asked["on_disconnect"]) == ("/runs/stream", "k", "cancel")
    assert asked["stream_subgraphs"] is True


def test_nothing_runs_before_it_is_read(serve: Any) -> None:
    server, afar = serve(chain(one))
    run = start(afar, {"n": []})
    assert server.requests == []
    assert run.output == {"n": [1]}


def test_events_and_lifecycle(serve: Any) -> None:
    here = chain(one, ("mid", chain(one)))
    _, afar = serve(here)
    events = [[(e["method"], e["seq"]) for e in start(g, {"n": []})] for g in (here, afar)]
    assert events[0] == events[1]
    began, ended = start(afar, {"n": []}).lifecycle
    assert (began["event"], began["graph_name"], ended["event"]) == ("started", "mid", "completed")


def test_nested_runs(serve: Any) -> None:
    _, afar = serve(chain(("mid", chain(one))))
    for sub in start(afar, {"n": []}).subgraphs:
        assert isinstance(sub, SubgraphRunStream)
        assert (sub.graph_name, list(sub.values)) == ("mid", [{"n": [1]}])
    assert sub.status == "completed"


def test_messages_come_as_streams_of_their_tokens(serve: Any) -> None:
    _, afar = serve(talker())
    told = [(m.node, list(m.text), m.output.text) for m in start(afar, QUESTION).messages]
    (here,) = [list(m.text) for m in start(talker(), QUESTION).messages]
    assert told == [("talk", here, "One two.")]
    assert len(here) > 1


def test_several_projections_at_once(serve: Any) -> None:
    _, afar = serve(talker())
    names = [name for name, _ in start(afar, QUESTION).interleave("values", "messages")]
    assert names == ["values", "messages", "values"]


def test_tool_calls(serve: Any) -> None:
    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1"}
    says = [AIMessage("", tool_calls=[call]), "Three."]
    _, afar = serve(create_agent(ScriptedChatModel(says), [add]))
    told = [
        (call.tool_name, call.tool_call_id, call.input, list(call.output_deltas), call.completed)
        for call in start(afar, QUESTION).tool_calls
    ]
    assert told == [("add", "c1", {"a": 1, "b": 2}, [], True)]


def test_transformers_and_agents_in_agents(serve: Any) -> None:
    _, afar = serve(asking_agent())
    run = start(afar, QUESTION, transformers=[SubagentTransformer])
    told = [(s.name, s.cause, [str(m.text) for m in s.messages]) for s in run.subagents]
    assert told == [("researcher", {"type": "toolCall", "tool_call_id": "c7"}, ["Two."])]
    _, afar = serve(chain(one))
    assert list(start(afar, {"n": []}, transformers=[CustomTransformer]).custom) == [{"told": 1}]


def test_questions_and_answers(serve: Any) -> None:
    _, afar = serve(chain(one, ask, checkpointer=InMemorySaver()))
    run = start(afar, {"n": [0]}, THREAD)
    assert run.interrupted
    assert [each.value for each in run.interrupts] == ["how many?"]
    assert run.output == {"n": [0, 1]}
    run = start(afar, Command(resume=7), THREAD)
    assert (run.output, run.interrupts) == ({"n": [0, 1, 7]}, [])


def test_other_arguments_of_streams(serve: Any) -> None:
    server, afar = serve(chain(one, ask, checkpointer=InMemorySaver()))
    more = {"interrupt_before": ["ask"], "metadata": {"m": 1}, "on_disconnect": "continue"}
    run = start(afar, {"n": []}, THREAD, **more)
    assert (run.output, run.interrupted) == ({"n": [1]}, False)
    assert {key: server.requests[0][key] for key in more} == more
    with pytest.raises(TypeError, match="stream_mode="):
        start(afar, {}, stream_mode="values")
    with pytest.raises(ConfigError, match="Sync client"):
        _ = start(RemoteGraph("helper"), {}).output


def test_a_run_that_fails(serve: Any) -> None:
    _, afar = serve(chain(one, boom))
    run = start(afar, {"n": []})
    with pytest.raises(RemoteException, match="boom"):
        list(run.values)
    with pytest.raises(RemoteException, match="boom"):
        _ = run.output


def test_who_leaves_hangs_up(serve: Any) -> None:
    server, afar = serve(endless())
    with start(afar, {"n": []}) as run:
        for _ in run.values:
            break
    assert server.left.wait(10)
    assert run.output["n"] == [] or set(run.output["n"]) == {1}


def endless() -> Any:
    builder = StateGraph(Numbers)
    builder.add_node("one", lambda state: {"n": [1]})
    builder.add_edge(START, "one").add_edge("one", "one")
    return builder.compile().with_config(recursion_limit=100_000)


def test_async_runs(serve: Any) -> None:
    async def read() -> Any:
        _, afar = serve(talker())
        run = await afar.astream_events(QUESTION, version="v3")
        texts = [await message.text async for message in run.messages]
        state = await run.output()
        _, afar = serve(chain(("mid", chain(one, ask)), checkpointer=InMemorySaver()))
        run = await afar.astream_events({"n": []}, THREAD, version="v3")
        nested = [(sub.graph_name, await sub.output()) async for sub in run.subgraphs]
        return texts, state["messages"][-1]["type"], nested, await run.interrupted()

    assert asyncio.run(read()) == (["One two."], "ai", [("mid", {"n": [1]})], True)


def test_who_leaves_an_async_run_hangs_up(serve: Any) -> None:
    async def leave() -> GraphServer:
        server, afar = serve(endless())
        async with await afar.astream_events({"n": []}, version="v3") as run:
            async for _ in run.values:
                break
        await asyncio.to_thread(server.left.wait, 10)
        return server

    assert asyncio.run(leave()).left.is_set()


def test_a_graph_here_with_a_node_afar(serve: Any) -> None:
    _, afar = serve(talker("Hello there."))
    builder = StateGraph(MessagesState).add_node("far", afar).add_edge(START, "far")
    run = start(builder.compile(), {"messages": [("user", "go")]})
    told = [
        (sub.graph_name, [str(message.text) for message in sub.messages]) for sub in run.subgraphs
    ]
    assert told == [("far", ["Hello there."])]
    assert run.output["messages"][-1].text == "Hello there."


def test_tokens_of_a_node_afar_are_a_message_that_ends_with_its_node(serve: Any) -> None:
    def speak(state: MessagesState) -> None:
        emit_token("Hello ")
        emit_token("there.")

    builder = StateGraph(MessagesState).add_node("speak", speak).add_edge(START, "speak")
    _, afar = serve(builder.compile())
    outer = StateGraph(MessagesState).add_node("far", afar).add_edge(START, "far").compile()
    told = [
        [message.output.text for message in sub.messages]
        for sub in start(outer, {"messages": [("user", "go")]}).subgraphs
    ]
    assert told == [["Hello there."]]


class Silent:
    """A client whose server tells questions with the updates alone."""

    class runs:
        @staticmethod
        def stream(**asked: Any) -> Any:
            from collections import namedtuple

            event = namedtuple("event", "event data")
            yield event("values", {"n": [1]})
            yield event("updates", {"__interrupt__": [{"value": "q", "id": "i"}]})


def test_questions_that_come_with_no_state_are_told_at_the_end() -> None:
    afar = RemoteGraph("helper", sync_client=Silent())
    run = start(afar, {"n": []})
    assert ([each.value for each in run.interrupts], run.output) == (["q"], {"n": [1]})
    answer = afar.invoke({"n": []}, version="v2")
    assert (answer.value, [each.id for each in answer.interrupts]) == ({"n": [1]}, ["i"])
