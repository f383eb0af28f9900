"""Calls of a batch and parallel steps inside one node ask each for itself, whoever makes them."""

import asyncio
from collections.abc import Callable
from threading import Thread
from typing import Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.graph import START, StateGraph
from plait.runnables import RunnableLambda, RunnableParallel, batching
from plait.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    answers: Any


def ask(question: str) -> str:
    return f"{question} {interrupt(question)}"


def asking(work: Callable[[], Any]) -> Any:
    """A graph whose node does this work."""
    builder = StateGraph(State).add_node("node", lambda state: {"answers": work()})
    return builder.add_edge(START, "node").compile(checkpointer=InMemorySaver())


def by_others(work: Callable[[], None]) -> None:
    """Another thread makes all the calls that are left."""
    thread = Thread(target=work)
    thread.start()
    thread.join()


def by_nobody(work: Callable[[], None]) -> None:
    """No other thread comes in time: the caller makes each call itself."""


@pytest.mark.parametrize("later", [by_others, by_nobody])
@pytest.mark.parametrize("first", [by_others, by_nobody])
@pytest.mark.filterwarnings("error")
def test_answers_reach_their_questions_whichever_threads_ask(
    monkeypatch: pytest.MonkeyPatch, first: Any, later: Any
) -> None:
    graph = asking(lambda: RunnableLambda(ask).batch(["a", "b", "c"]))
    monkeypatch.setattr(batching, "on_a_thread", first)
    asked = graph.invoke({}, CONFIG)["__interrupt__"]
    assert sorted(one.value for one in asked) == ["a", "b", "c"]
    monkeypatch.setattr(batching, "on_a_thread", later)
    ids = {one.value: one.id for one in asked}
    left = graph.invoke(Command(resume={ids["c"]: "C"}), CONFIG)["__interrupt__"]
    assert sorted(one.value for one in left) == ["a", "b"]
    assert {one.value: one.id for one in left} == {"a": ids["a"], "b": ids["b"]}
    answers = {ids["a"]: "A", ids["b"]: "B"}
    assert graph.invoke(Command(resume=answers), CONFIG)["answers"] == ["a A", "b B", "c C"]


@pytest.mark.filterwarnings("error")
def test_equal_questions_of_parallel_steps_are_told_apart() -> None:
    steps = RunnableParallel(left=lambda x: ask("sure?"), right=lambda x: ask("sure?"))
    graph = asking(lambda: steps.invoke(None))
    left, right = graph.invoke({}, CONFIG)["__interrupt__"]
    done = graph.invoke(Command(resume={left.id: 1, right.id: 2}), CONFIG)["answers"]
    assert sorted(done.values()) == ["sure? 1", "sure? 2"]


@pytest.mark.filterwarnings("error")
def test_async_calls_of_a_batch_ask_under_the_same_ids() -> None:
    async def aask(question: str) -> str:
        return ask(question)

    batch = RunnableLambda(ask, afunc=aask)
    graph = asking(lambda: batch.batch(["a", "b"]))
    ids = {one.value: one.id for one in graph.invoke({}, CONFIG)["__interrupt__"]}

    async def node(state: State) -> State:
        return {"answers": await batch.abatch(["a", "b"])}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    later = builder.compile(checkpointer=graph.checkpointer)
    answers = {ids["a"]: "A", ids["b"]: "B"}
    done = asyncio.run(later.ainvoke(Command(resume=answers), CONFIG))
    assert done["answers"] == ["a A", "b B"]


def fail(x: Any) -> None:
    raise ValueError("fails")


def test_a_failure_beside_a_question_is_raised() -> None:
    steps = RunnableParallel(asks=lambda x: ask("sure?"), fails=fail)
    with pytest.raises(ValueError, match="fails"):
        asking(lambda: steps.invoke(None)).invoke({}, CONFIG)
