"""What plait adds to errors that are not its own: where they happened, and with what."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, cast

import pytest

from plait.agents import create_agent
from plait.channels import EphemeralValue
from plait.chat_models.fake import ScriptedChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.config import get_store
from plait.errors import InvalidUpdateError
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.messages import AIMessage
from plait.prebuilt import ToolRuntime
from plait.runtime import Runtime
from plait.types import Send

from .table import THREAD, State, graph_of


@dataclass
class Context:
    """What the nodes below are promised."""

    user: str


def notes_of(caught: pytest.ExceptionInfo[BaseException]) -> str:
    return " ".join(caught.value.__notes__)


def greeting() -> Any:
    """A graph whose node needs a context."""

    def greet(state: State, runtime: Runtime[Context]) -> Any:
        return {"text": runtime.context.user}

    return StateGraph(State, context_schema=Context).add_node(greet).add_edge(START, "greet")


def test_an_error_of_a_reducer_names_the_key_the_reducer_and_the_update() -> None:
    graph = graph_of(a=lambda state: {"items": "x"}).compile()
    with pytest.raises(TypeError) as caught:
        graph.invoke({"items": ["i"]})
    note = " ".join(caught.value.__notes__)
    for part in ("'items'", "add", "'x'", "str", "list"):
        assert part in note


def test_an_error_of_a_reducer_names_who_wrote_the_key() -> None:
    graph = graph_of(fetch=lambda state: {"items": "x"}, other=lambda state: {"text": "t"})
    with pytest.raises(TypeError) as caught:
        graph.compile().invoke({"items": ["i"]})
    assert "Key 'items' was written by node 'fetch'." in caught.value.__notes__


def test_an_error_of_a_stored_input_says_that_the_input_wrote_the_key() -> None:
    graph = graph_of(a=lambda state: None).compile(checkpointer=InMemorySaver())
    with pytest.raises(TypeError) as caught:
        graph.invoke({"items": 1}, THREAD)
    assert "Key 'items' was written by the input." in caught.value.__notes__


@pytest.mark.parametrize("key", ["text", "shown"])
def test_two_values_for_a_key_that_takes_one_name_who_wrote_them(key: str) -> None:
    class Shown(State):
        shown: Annotated[str, EphemeralValue]

    graph = StateGraph(Shown).add_node("c", lambda state: {key: "c"})
    for name in ("a", "b"):
        graph.add_node(name, lambda state: {key: "x"}).add_edge(START, name)
    graph.add_conditional_edges(START, lambda state: [Send("c", {}), Send("c", {})])
    with pytest.raises(InvalidUpdateError) as caught:
        graph.compile().invoke({"text": ""})
    note = f"Key {key!r} was written by node 'a', node 'b', node 'c' (2 times)."
    assert note in caught.value.__notes__


def test_an_error_of_a_node_names_the_node() -> None:
    def fetch(state: object) -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone") as caught:
        graph_of(fetch=fetch).compile().invoke({"text": ""})
    assert "'fetch'" in " ".join(caught.value.__notes__)


@pytest.mark.parametrize("call", [{}, {"config": {"configurable": {"user": "ada"}}}], ids=str)
def test_a_context_that_was_not_passed_is_named(call: Any) -> None:
    with pytest.raises(AttributeError) as caught:
        greeting().compile().invoke({"text": ""}, **call)
    assert "pass context=Context(...)" in notes_of(caught)


async def test_and_in_async_streams_and_in_the_graph_that_lacks_it() -> None:
    outer = StateGraph(State).add_node("inner", greeting().compile()).add_edge(START, "inner")
    with pytest.raises(AttributeError) as caught:
        async for _ in outer.compile().astream({"text": ""}):
            pass
    assert notes_of(caught).count("pass context=Context(...)") == 1


def test_another_none_is_left_alone() -> None:
    def fetch(state: State, runtime: Runtime[Context]) -> None:
        nothing: Any = None
        nothing.user()

    graph = StateGraph(State, context_schema=Context).add_node(fetch).add_edge(START, "fetch")
    with pytest.raises(AttributeError) as caught:
        graph.compile().invoke({"text": ""}, context=Context("ada"))
    assert "context" not in notes_of(caught)


def test_a_store_that_the_graph_does_not_have_is_named() -> None:
    def remember(state: State) -> None:
        get_store().put(("users",), "ada", {})

    with pytest.raises(AttributeError) as caught:
        graph_of(remember=remember).compile().invoke({"text": ""})
    assert "compile(store=InMemoryStore())" in notes_of(caught)


def test_a_method_of_none_is_no_store_where_nobody_speaks_of_one() -> None:
    def look(state: Any) -> None:
        state.get("absent").get("first")

    with pytest.raises(AttributeError) as caught:
        graph_of(look=look).compile().invoke(cast("Any", {"text": ""}))
    assert "store" not in notes_of(caught)


def test_a_tool_that_a_model_calls_is_told_of_a_store_where_its_agent_gets_it() -> None:
    def remember(fact: str, runtime: ToolRuntime) -> None:
        """Remember a fact."""
        cast("Any", runtime.store).put(("facts",), "last", {"fact": fact})

    call = {"name": "remember", "args": {"fact": "x"}, "id": "c1"}
    agent = create_agent(ScriptedChatModel([AIMessage("", tool_calls=[call])]), [remember])
    with pytest.raises(AttributeError) as caught:
        agent.invoke({"messages": "hi"})
    assert "create_agent(..., store=InMemoryStore())" in notes_of(caught)


async def test_a_result_that_async_code_asks_for_too_early_is_named() -> None:
    @task
    async def double(x: int) -> int:
        return 2 * x

    @entrypoint()
    async def work(x: int) -> int:
        return double(x).result()

    with pytest.raises(asyncio.InvalidStateError, match="not set") as caught:
        await work.ainvoke(1)
    assert "await f(x)" in notes_of(caught)


def takes_an_item(call: Any) -> Any:
    return call["x"]


def takes_a_field(call: Any) -> Any:
    return call.x


def adds_to_it(call: Any) -> Any:
    return call + 1


@pytest.mark.parametrize("use", [takes_an_item, takes_a_field, adds_to_it])
async def test_a_call_that_is_taken_for_its_outcome_is_named(use: Any) -> None:
    @task
    def double(x: int) -> int:
        return 2 * x

    @entrypoint()
    def work(x: int) -> Any:
        return use(double(x))

    @entrypoint()
    async def awork(x: int) -> Any:
        return use(double(x))

    with pytest.raises((AttributeError, TypeError)) as caught:
        work.invoke(1)
    assert "its outcome is `f(x).result()`" in notes_of(caught)
    with pytest.raises((AttributeError, TypeError)) as caught:
        await awork.ainvoke(1)
    assert "its outcome is `await f(x)`" in notes_of(caught)
