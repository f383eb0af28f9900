"""Tokens reach the `messages` stream from wherever they come; unheard ones cost nothing."""

import asyncio
import subprocess
import sys
from random import Random
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import (
    GenericFakeChatModel as ForeignChatModel,
)
from langchain_core.messages import AIMessage as ForeignMessage
from langchain_core.messages import AIMessageChunk as ForeignChunk
from langchain_core.messages import BaseMessage as ForeignBaseMessage
from langchain_core.runnables import RunnableLambda as ForeignLambda

from plait.callbacks import BaseCallbackHandler
from plait.chat_models import ChatGeneration, ChatResult
from plait.chat_models.base import BaseChatModel
from plait.chat_models.fake import ScriptedChatModel
from plait.config import aemit_token, emit_token
from plait.errors import ConfigError
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from plait.pregel import messages as streamed_messages
from plait.pregel.messages import messages_in


def graph_of(node: Any) -> Any:
    return StateGraph(MessagesState).add_node("n", node).add_edge(START, "n").compile()


def told(graph: Any, **options: Any) -> list[Any]:
    return list(graph.stream({"messages": []}, stream_mode="messages", **options))


def texts(parts: list[Any]) -> list[str]:
    return [message.content for message, _ in parts]


def foreign(*answers: str) -> Any:
    return ForeignChatModel(messages=iter([ForeignMessage(answer) for answer in answers]))


def test_a_langchain_model_called_without_a_config_streams_its_tokens() -> None:
    model = foreign("one two")
    parts = told(graph_of(lambda state: {"messages": [model.invoke("x")]}))
    assert texts(parts) == ["one", " ", "two"]
    assert {metadata["langgraph_node"] for _, metadata in parts} == {"n"}
    assert isinstance(parts[0][0], ForeignChunk)


def test_a_langchain_model_called_with_the_config_streams_its_tokens_once() -> None:
    model = foreign("one two")

    def node(state: MessagesState, config: Any) -> Any:
        return {"messages": [model.invoke("x", config)]}

    assert texts(told(graph_of(node))) == ["one", " ", "two"]


async def test_a_langchain_model_streams_inside_async_nodes_and_their_tasks() -> None:
    model = foreign("one two")

    async def node(state: MessagesState) -> Any:
        return {"messages": [await asyncio.create_task(model.ainvoke("x"))]}

    stream = graph_of(node).astream({"messages": []}, stream_mode="messages")
    assert [message.content async for message, _ in stream] == ["one", " ", "two"]


def test_a_langchain_runnable_around_a_model_keeps_the_tokens() -> None:
    model = foreign("one two")
    chain = ForeignLambda(lambda text: text) | model
    parts = told(graph_of(lambda state: {"messages": [chain.invoke("x")]}))
    assert texts(parts) == ["one", " ", "two"]


def test_a_model_inside_a_nested_graph_is_not_told_unless_subgraphs_are_asked_for() -> None:
    inner = graph_of(lambda state: {"messages": [foreign("one two").invoke("x")]})

    def call(state: MessagesState) -> Any:
        inner.invoke(state)

    assert told(graph_of(call)) == []
    parts = told(graph_of(call), subgraphs=True)
    assert texts([part for _, part in parts]) == ["one", " ", "two"]
    assert {ns[0].split(":")[0] for ns, _ in parts} == {"n"}


def test_a_model_that_tells_tokens_by_hand_is_heard() -> None:
    class ByHand(BaseChatModel):
        def _generate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> ChatResult:
            for token in ("a", "b"):
                if run_manager is not None:
                    run_manager.on_llm_new_token(token)
            return ChatResult([ChatGeneration(AIMessage("ab"))])

    assert texts(told(graph_of(lambda s: {"messages": [ByHand().invoke("x")]}))) == ["a", "b"]


def test_a_model_that_fails_in_the_middle_has_told_what_it_said() -> None:
    model = ScriptedChatModel([["one ", ValueError("cut")]])
    found: list[str] = []
    stream = graph_of(lambda s: model.invoke("x")).stream({"messages": []}, stream_mode="messages")
    found.append(next(stream)[0].content)
    with pytest.raises(ValueError, match="cut"):
        next(stream)
    assert found == ["one "]


# --- from any SDK ---------------------------------------------------------------------------------


def test_emitted_tokens_have_one_id_and_the_returned_message_is_not_told_again() -> None:
    def node(state: MessagesState) -> Any:
        answer = emit_token("Hel") + emit_token("lo")
        return {"messages": [answer]}

    graph = graph_of(node)
    parts = told(graph)
    assert texts(parts) == ["Hel", "lo"]
    assert len({message.id for message, _ in parts}) == 1
    (kept,) = graph.invoke({"messages": []})["messages"]
    assert (type(kept), kept.content) == (AIMessage, "Hello")


def test_emitted_tokens_of_several_messages_are_told_apart_by_id() -> None:
    def node(state: MessagesState) -> None:
        for piece in ("a", "b"):
            for id in ("1", "2"):
                emit_token(piece + id, id=id)

    assert [(m.content, m.id) for m, _ in told(graph_of(node))] == [
        ("a1", "1"),
        ("a2", "2"),
        ("b1", "1"),
        ("b2", "2"),
    ]


def test_emitted_tokens_carry_metadata_and_tags() -> None:
    def node(state: MessagesState) -> None:
        emit_token("x", tags=["draft"], metadata={"model": "m"})
        emit_token("secret", tags=["nostream"])

    ((message, metadata),) = told(graph_of(node))
    assert message.content == "x"
    assert metadata["tags"] == ["draft"]
    assert metadata["model"] == "m"
    assert (metadata["langgraph_node"], metadata["langgraph_step"]) == ("n", 1)
    assert metadata["langgraph_checkpoint_ns"].startswith("n:")


def test_chunks_of_any_kind_can_be_emitted() -> None:
    def node(state: MessagesState) -> None:
        emit_token(AIMessageChunk(content="own", id="own"))
        emit_token(ForeignChunk(content="foreign", id="foreign"))

    assert [(m.content, m.id) for m, _ in told(graph_of(node))] == [
        ("own", "own"),
        ("foreign", "foreign"),
    ]


async def test_async_nodes_emit_and_wait_for_room() -> None:
    async def node(state: MessagesState) -> Any:
        total = await aemit_token("a") + await aemit_token("b")
        return {"messages": [total]}

    stream = graph_of(node).astream({"messages": []}, stream_mode="messages")
    assert [message.content async for message, _ in stream] == ["a", "b"]


def test_emitting_without_a_listener_is_fine_and_outside_of_a_graph_an_error() -> None:
    def node(state: MessagesState) -> Any:
        return {"messages": [emit_token("x")]}

    assert graph_of(node).invoke({"messages": []})["messages"][0].content == "x"
    with pytest.raises(ConfigError):
        emit_token("x")


# --- nobody listens -------------------------------------------------------------------------------

QUIET = """
import sys
from typing import TypedDict
from plait.graph import START, StateGraph
class State(TypedDict):
    x: int
graph = StateGraph(State).add_node("n", lambda s: {"x": 2}).add_edge(START, "n").compile()
assert graph.invoke({"x": 1}) == {"x": 2}
loaded = [m for m in ("plait.callbacks.manager", "plait.pregel.listening", "plait.pregel.messages",
                      "plait.runnables.event_stream", "asyncio") if m in sys.modules]
assert not loaded, loaded
"""


def test_a_run_that_nobody_listens_to_loads_nothing_for_it() -> None:
    subprocess.run([sys.executable, "-c", QUIET], check=True, timeout=60)


def test_a_run_that_nobody_listens_to_starts_no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import plait.pregel.listening as listening

    def forbidden(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("nobody listens")

    monkeypatch.setattr(listening, "HeardTask", forbidden)
    monkeypatch.setattr(listening, "told", forbidden)
    graph = graph_of(lambda state: {"messages": [AIMessage("x")]})
    graph.invoke({"messages": []})
    assert list(graph.stream({"messages": []}, stream_mode="updates"))


def test_a_handler_that_raises_fails_the_run_only_if_it_says_so() -> None:
    class Loud(BaseCallbackHandler):
        def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
            raise ValueError("heard")

    graph = graph_of(lambda state: {"messages": [AIMessage("x", id="1")]})
    assert len(graph.invoke({"messages": []}, {"callbacks": [Loud()]})["messages"]) == 1
    Loud.raise_error = True
    with pytest.raises(ValueError, match="heard"):
        graph.invoke({"messages": []}, {"callbacks": [Loud()]})


def one_by_one(state: dict[str, Any]) -> list[Any]:
    """The messages of a state, item after item."""
    found: list[Any] = []
    for held in state.values():
        items = held if isinstance(held, (list, tuple)) else [held]
        found += [m for m in items if isinstance(m, (BaseMessage, ForeignBaseMessage))]
    return found


@pytest.mark.parametrize("seed", range(50))
def test_lists_are_looked_through_by_class_and_every_message_is_found(seed: int) -> None:
    rng = Random(seed)

    def item() -> Any:
        made = rng.randrange(6)
        message = (AIMessage, ForeignMessage, HumanMessage)[made] if made < 3 else None
        return message("x") if message else rng.choice([1, "x", None, {"messages": 1}, [2]])

    def held() -> Any:
        items = [item() for _ in range(rng.randrange(6))]
        return rng.choice([items, tuple(items), item(), [AIMessage("x")] * 3])

    state = {f"k{n}": held() for n in range(5)}
    assert [id(m) for m in messages_in(state)] == [id(m) for m in one_by_one(state)]


def test_each_class_of_a_long_list_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[type[Any]] = []

    def is_foreign_class(cls: type[Any]) -> bool:
        asked.append(cls)
        return False

    monkeypatch.setattr(streamed_messages, "is_foreign_class", is_foreign_class)
    assert not list(messages_in({"n": list(range(10_000)), "s": ["x"] * 10_000}))
    assert asked == [int, str]


def test_tokens_of_an_sdk_have_the_tags_of_the_run_and_are_kept_out_by_them() -> None:
    def node(state: MessagesState) -> Any:
        emit_token("a")
        emit_token("b", tags=["own"])
        return {}

    graph = graph_of(node)
    tags = [about.get("tags") for _, about in told(graph, config={"tags": ["run"]})]
    assert tags == [["run"], ["run", "own"]]
    assert ["tags" in about for _, about in told(graph)] == [False, True]
    assert told(graph, config={"tags": ["nostream"]}) == []
