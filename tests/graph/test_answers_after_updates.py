"""Answers to questions that were asked before the thread was written to by hand."""

from __future__ import annotations

import operator
import warnings
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.errors import UnusedAnswerWarning
from plait.func import task
from plait.graph import START, StateGraph
from plait.types import Command, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    n: int
    log: Annotated[list[str], operator.add]


def ask(state: State) -> dict[str, Any]:
    return {"log": [interrupt("sure?")]}


@task
def asks() -> str:
    return interrupt("sure?")


def graph_of(node: Any) -> Any:
    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    return builder.compile(checkpointer=InMemorySaver())


def inner() -> Any:
    return StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()


def called(state: State) -> dict[str, Any]:
    return {"log": inner().invoke({"log": []})["log"]}


def journaled(state: State) -> dict[str, Any]:
    return {"log": [asks().result()]}


@pytest.mark.parametrize("node", [inner(), called, journaled], ids=["node", "call", "task"])
def test_an_answer_that_may_be_to_another_question_is_told_and_asked_for_again(node: Any) -> None:
    graph = graph_of(node)
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"n": 1})
    with pytest.warns(UnusedAnswerWarning, match=r"inside task 'node'.*It asks again, as \w{32}:"):
        told = graph.invoke(Command(resume="lost"), THREAD)
    assert [question.value for question in told["__interrupt__"]] == ["sure?"]
    answer = Command(resume={told["__interrupt__"][0].id: "yes"})
    assert graph.invoke(answer, THREAD) == {"n": 1, "log": ["yes"]}


def test_an_answer_to_a_question_of_the_node_itself_reaches_it_without_a_word() -> None:
    graph = graph_of(ask)
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"n": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert graph.invoke(Command(resume="yes"), THREAD) == {"n": 1, "log": ["yes"]}
