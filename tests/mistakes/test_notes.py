"""What plait adds to errors that are not its own: where they happened, and with what."""

from dataclasses import dataclass
from typing import Any

import pytest

from plait.config import get_store
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.runtime import Runtime

from .table import State, graph_of


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


async def test_a_result_that_async_code_asks_for_too_early_is_named() -> None:
    @task
    async def double(x: int) -> int:
        return 2 * x

    @entrypoint()
    async def work(x: int) -> int:
        return double(x).result()

    with pytest.raises(Exception, match="not set") as caught:
        await work.ainvoke(1)
    assert "await f(x)" in notes_of(caught)
