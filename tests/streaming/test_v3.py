"""Streams of version "v3", where the peer cannot be asked: plait's own ways, and what is ours."""

from __future__ import annotations

import asyncio
import warnings
from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel as PeersModel
from langchain_core.messages import AIMessage as PeersMessage

from plait.agents import create_agent
from plait.chat_models.fake import ScriptedChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.config import emit_token
from plait.errors import ConfigError
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.stream import StreamChannel, StreamTransformer, UpdatesTransformer
from plait.tools import tool
from plait.warnings import BetaWarning

pytestmark = pytest.mark.filterwarnings("ignore::plait.warnings.BetaWarning")


class Numbers(TypedDict):
    n: Annotated[list[int], add]


def numbers(*nodes: Any, **compiled: Any) -> Any:
    builder = StateGraph(Numbers)
    before = START
    for node in nodes:
        name, code = node if isinstance(node, tuple) else (node.__name__, node)
        builder.add_node(name, code)
        builder.add_edge(before, name)
        before = name
    return builder.compile(**compiled)


def one(state: Numbers) -> Any:
    return {"n": [1]}


def talking(node: Any) -> Any:
    return StateGraph(MessagesState).add_node("talk", node).add_edge(START, "talk").compile()


def start(graph: Any, given: Any, **kwargs: Any) -> Any:
    return graph.stream_events(given, version="v3", **kwargs)


def test_the_caller_is_told_that_it_is_experimental() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        numbers(one).stream_events({"n": []}, version="v3")
    assert [(each.category, each.filename) for each in told] == [(BetaWarning, __file__)]


def test_tokens_of_any_sdk_are_a_message_that_ends_with_its_node() -> None:
    def talk(state: MessagesState) -> Any:
        whole = None
        for piece in ("It ", "snows."):
            chunk = emit_token(piece)
            whole = chunk if whole is None else whole + chunk
        return {"messages": [whole]}

    run = start(talking(talk), {"messages": []})
    found = [(list(message.text), message.output.text) for message in run.messages]
    assert found == [(["It ", "snows."], "It snows.")]


def test_models_of_langchain_are_streamed() -> None:
    model = PeersModel(messages=iter([PeersMessage("so it is")]))
    run = start(talking(lambda s: {"messages": [model.invoke("x")]}), {"messages": []})
    found = [(list(message.text), message.output.text) for message in run.messages]
    assert found == [(["so", " ", "it", " ", "is"], "so it is")]


def test_a_tag_keeps_a_model_out_of_the_pieces_but_not_its_message() -> None:
    model = ScriptedChatModel(["It is dry."]).with_config(tags=["nostream"])
    run = start(talking(lambda s: {"messages": [model.invoke("x")]}), {"messages": []})
    assert [list(message.text) for message in run.messages] == [["It is dry."]]


def test_the_state_is_the_same_whoever_listens() -> None:
    def graph() -> Any:
        model = ScriptedChatModel(["It is dry."])
        return talking(lambda s: {"messages": [model.invoke("x")]})

    streamed = start(graph(), {"messages": []}).output["messages"][0]
    plain = graph().invoke({"messages": []})["messages"][0]
    assert (streamed.content, streamed.response_metadata) == (
        plain.content,
        plain.response_metadata,
    )


def test_a_consumer_that_is_cancelled_leaves_the_run_to_the_others() -> None:
    async def main() -> Any:
        inside, go = asyncio.Event(), asyncio.Event()

        async def slow(state: Numbers) -> Any:
            inside.set()
            await go.wait()
            return {"n": [2]}

        run = await numbers(slow).astream_events({"n": []}, version="v3")
        first = asyncio.create_task(run.output())
        await inside.wait()
        first.cancel()
        await asyncio.wait([first])
        go.set()
        return first.cancelled(), await run.output()

    assert asyncio.run(main()) == (True, {"n": [2]})


def test_a_nested_graph_with_a_memory_is_read_under_its_own_namespace() -> None:
    inner = numbers(one, checkpointer=True)
    seen: list[Any] = []

    def node(state: Numbers) -> Any:
        run = start(inner, {"n": [7]})
        seen.append([value["n"] for value in run.values])
        seen.append(run.output)
        return {"n": [5]}

    graph = numbers(node, checkpointer=InMemorySaver())
    for _ in range(2):
        graph.invoke({"n": []}, {"configurable": {"thread_id": "1"}})
    assert seen == [
        [[7], [7, 1]],
        {"n": [7, 1]},
        [[7, 1, 7], [7, 1, 7, 1]],
        {"n": [7, 1, 7, 1]},
    ]


def test_leaving_early_gives_the_thread_back() -> None:
    graph = numbers(one, ("two", one), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    with graph.stream_events({"n": []}, config, version="v3") as run:
        next(iter(run.values))
    assert graph.invoke(None, config) == {"n": [1, 1]}


def test_an_error_at_the_end_of_a_transformer_fails_the_run() -> None:
    class Fails(StreamTransformer):
        def init(self) -> dict[str, Any]:
            return {}

        def process(self, event: Any) -> bool:
            return True

        def finalize(self) -> None:
            raise KeyError("at the end")

    run = start(numbers(one), {"n": []}, transformers=[Fails])
    with pytest.raises(KeyError, match="at the end"):
        _ = run.output


def test_each_branch_of_a_tee_gets_the_error() -> None:
    def boom(state: Numbers) -> Any:
        raise ValueError("boom")

    left, right = start(numbers(boom), {"n": []}).values.tee()
    for branch in (left, right):
        with pytest.raises(ValueError, match="boom"):
            list(branch)


def test_transformers_need_version_3() -> None:
    with pytest.raises(ConfigError, match='version="v3"'):
        numbers(one).astream_events({"n": []}, transformers=[StreamTransformer])


def test_what_nobody_consumes_is_not_kept() -> None:
    made: list[StreamChannel[int]] = []

    class Counts(StreamTransformer):
        def init(self) -> dict[str, Any]:
            made.append(StreamChannel())
            return {"counts": made[0]}

        def process(self, event: Any) -> bool:
            made[0].push(1)
            return True

    run = start(numbers(one), {"n": []}, transformers=[Counts])
    assert run.output == {"n": [1]}
    assert list(run.extensions["counts"]) == []


def agent_that_asks_another() -> Any:
    helper = create_agent(ScriptedChatModel(["Two."]), [], name="helper")

    @tool
    def research(question: str) -> str:
        """Ask the helper."""
        return helper.invoke({"messages": [("user", question)]})["messages"][-1].text

    call = {"name": "research", "args": {"question": "1 + 1?"}, "id": "c7"}
    return create_agent(ScriptedChatModel([AIMessage("", tool_calls=[call]), "Two."]), [research])


@pytest.mark.parametrize("reads", [False, True])
def test_an_agent_inside_has_a_second_stream_only_where_somebody_reads_it(reads: bool) -> None:
    scopes: list[Any] = []

    def updates(scope: Any) -> Any:
        scopes.append(scope)
        return UpdatesTransformer(scope)

    run = start(agent_that_asks_another(), {"messages": [("user", "go")]}, transformers=[updates])
    if reads:
        assert [sub.name for sub in run.subagents] == ["helper"]
    assert run.output["messages"][-1].text == "Two."
    assert len(scopes) == (3 if reads else 2)


def test_who_leaves_while_a_tool_runs_is_told_of_no_error(caplog: Any) -> None:
    with start(agent_that_asks_another(), {"messages": [("user", "go")]}) as run:
        for _ in run.subagents:
            break
    assert caplog.records == []


def test_a_message_is_done_with_its_last_piece_and_the_next_node_has_not_begun() -> None:
    ran: list[str] = []

    def talk(state: MessagesState) -> Any:
        return {"messages": [ScriptedChatModel(["It is dry."]).invoke("x")]}

    def more(state: MessagesState) -> Any:
        ran.append("more")
        return {}

    builder = StateGraph(MessagesState).add_node(talk).add_node(more).add_edge(START, "talk")
    run = start(builder.add_edge("talk", "more").compile(), {"messages": []})
    message = next(iter(run.messages))
    assert "".join(message.text) == "It is dry."
    assert (message.done, ran) == (True, [])


class Refusing(StreamTransformer):
    """Keeps the states out of the stream of events."""

    required_stream_modes = ("updates",)

    def init(self) -> Any:
        return {}

    def process(self, event: Any) -> bool:
        return event["method"] != "values"


class Willing(StreamTransformer):
    """Has nothing against any event."""

    def init(self) -> Any:
        return {}

    def process(self, event: Any) -> bool:
        return True


@pytest.mark.parametrize("order", [(Refusing, Willing), (Willing, Refusing)])
async def test_one_transformer_that_says_no_is_enough(order: Any) -> None:
    graph = numbers(one)
    told = [event["method"] for event in start(graph, {"n": []}, transformers=order)]
    run = await graph.astream_events({"n": []}, version="v3", transformers=order)
    assert [event["method"] async for event in run] == told
    assert told
    assert "values" not in told


@tool
def weather(place: str) -> str:
    """The weather of a place."""
    return "dry"


CALL: Any = {"name": "weather", "args": {"place": "here"}, "id": "c1"}


def test_calls_of_tools_stay_events_where_they_are_streams_too() -> None:
    model = ScriptedChatModel([AIMessage("", tool_calls=[CALL]), "It is dry."])
    run = start(create_agent(model, [weather]), {"messages": "How is it?"})
    events = [event["params"]["data"]["event"] for event in run if event["method"] == "tools"]
    assert events == ["tool-started", "tool-finished"]


def test_what_a_tool_gives_while_it_runs_ends_with_it() -> None:
    model = ScriptedChatModel([AIMessage("", tool_calls=[CALL]), "It is dry."])
    run = start(create_agent(model, [weather]), {"messages": "How is it?"})
    call = next(iter(run.tool_calls))
    assert (call.completed, list(call.output_deltas), call.completed) == (False, [], True)
    assert len(model.calls) == 1  # the agent has not gone on yet


def test_a_call_that_was_streamed_has_its_arguments() -> None:
    model = ScriptedChatModel([AIMessage("", tool_calls=[CALL])])
    run = start(talking(lambda s: {"messages": [model.invoke("x")]}), {"messages": []})
    assert [message.output.tool_calls[0]["args"] for message in run.messages] == [CALL["args"]]


def test_reading_the_calls_of_a_message_waits_until_its_text_is_over() -> None:
    model = ScriptedChatModel([AIMessage("Let me see.", tool_calls=[CALL])])
    run = start(talking(lambda s: {"messages": [model.invoke("x")]}), {"messages": []})
    told = [[piece["args"] for piece in message.tool_calls] for message in run.messages]
    assert told == [['{"place": "here"}']]


def test_the_updates_of_a_run_are_its_own_and_not_those_of_graphs_inside() -> None:
    run = start(numbers(("inner", numbers(one))), {"n": []}, transformers=[UpdatesTransformer])
    assert [list(told) for told in run.updates] == [["inner"]]


def test_what_a_channel_with_a_name_is_given_is_an_event_of_the_run() -> None:
    class Seen(StreamTransformer):
        def init(self) -> Any:
            self.seen = StreamChannel[Any]("seen")
            return {"seen": self.seen}

        def process(self, event: Any) -> bool:
            if event["method"] == "values":
                self.seen.push(event["params"]["data"]["n"])
            return True

    run = start(numbers(one), {"n": []}, transformers=[Seen])
    told = [event["params"]["data"] for event in run if event["method"] == "custom:seen"]
    assert told == [[], [1]]


def test_a_channel_whose_run_has_ended_takes_nothing_more() -> None:
    class Late(StreamTransformer):
        def init(self) -> Any:
            self.kept = StreamChannel[int]()
            return {"kept": self.kept}

        def process(self, event: Any) -> bool:
            return True

    run = start(numbers(one), {"n": []}, transformers=[Late])
    assert list(run.extensions["kept"]) == []
    with pytest.raises(RuntimeError, match="is closed: its run has ended"):
        run.extensions["kept"].push(1)


def test_a_nested_run_says_which_call_of_a_tool_it_is_for() -> None:
    run = start(agent_that_asks_another(), {"messages": [("user", "go")]})
    begun = [told for told in run.lifecycle if told["event"] == "started"]
    assert [told.get("cause") for told in begun] == [{"type": "toolCall", "tool_call_id": "c7"}]
