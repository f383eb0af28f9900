"""A node is given other code while it asks: an answer that nobody asks for any more is told of, by
`check` before the code goes live and by the run that is given it."""

import warnings
from typing import Any, TypedDict

import pytest

from plait import START, Command, StateGraph, deploy, interrupt
from plait.errors import UnusedAnswerWarning

from .conftest import Caller


class State(TypedDict, total=False):
    answer: str


def ask(state: State) -> State:
    return {"answer": interrupt("go on?")}


def ask_otherwise(state: State) -> State:
    return {"answer": interrupt("which way?", key="way")}


def ask_nothing(state: State) -> State:
    return {"answer": "yes"}


def inside(state: State) -> State:
    return whole.invoke(state)  # type: ignore[return-value]


whole: Any = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()


def graph(saver: Any, node: Any) -> Any:
    return StateGraph(State).add_node("in", node).add_edge(START, "in").compile(checkpointer=saver)


REPLACED = {
    "graph by function": (whole, ask, "a graph inside asked, and now it runs none"),
    "call by function": (inside, ask, None),
    "function by graph": (ask, whole, "its code asked, and now it is a graph"),
    "question by another": (ask, ask_otherwise, None),
}
"""What asks, what takes its place, and what `check` can see of that: the code of a function is not
part of a graph's shape."""


@pytest.mark.parametrize(("asks", "instead", "seen"), REPLACED.values(), ids=REPLACED)
def test_an_answer_to_what_asked_before_is_told_of_and_reaches_nobody_else(
    saver: Any, caller: Caller, asks: Any, instead: Any, seen: str | None
) -> None:
    (asked,) = caller.invoke(graph(saver, asks), {})["__interrupt__"]
    now = graph(saver, instead)
    (thread,) = deploy.check(now, saver).threads
    assert thread.loses is (seen is not None)
    for finding in thread.findings:
        assert finding.name == "in"
        assert f"{asked.id}, which {seen}" in finding.what
    lost = rf"question {asked.id} has reached nobody: .* inside task 'in'.* another question, \w"
    with pytest.warns(UnusedAnswerWarning, match=lost):
        (again,) = caller.invoke(now, Command(resume="no"))["__interrupt__"]
    assert again.id != asked.id
    assert caller.invoke(now, Command(resume={again.id: "yes"})) == {"answer": "yes"}


def test_an_answer_to_a_task_that_ends_without_asking_is_told_of(
    saver: Any, caller: Caller
) -> None:
    (asked,) = caller.invoke(graph(saver, whole), {})["__interrupt__"]
    with pytest.warns(UnusedAnswerWarning, match=f"{asked.id} has reached nobody.*has ended"):
        assert caller.invoke(graph(saver, ask_nothing), Command(resume="no")) == {"answer": "yes"}


def fail(state: State) -> State:
    raise ValueError("no")


def handled(saver: Any, node: Any, handler: Any, *, of_all: Any = None) -> Any:
    builder = StateGraph(State).set_node_defaults(error_handler=of_all)
    builder.add_node("in", node, error_handler=handler).add_edge(START, "in")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("default", [False, True], ids=["none", "that of all nodes"])
def test_an_answer_to_an_error_handler_that_is_gone_is_told_of(
    saver: Any, caller: Caller, default: bool
) -> None:
    before = handled(saver, fail, ask)
    (asked,) = caller.invoke(before, {})["__interrupt__"]
    (thread,) = deploy.check(before, saver).threads
    assert thread.verdict == "resumes"
    now = (
        handled(saver, fail, None, of_all=ask_otherwise)
        if default
        else handled(saver, ask_otherwise, None)
    )
    (thread,) = deploy.check(now, saver).threads
    assert thread.loses
    assert [f"answer to {asked.id}" in finding.what for finding in thread.findings] == [True]
    with pytest.warns(UnusedAnswerWarning, match=f"{asked.id} has reached nobody.*error handler"):
        (again,) = caller.invoke(now, Command(resume="no"))["__interrupt__"]
    assert caller.invoke(now, Command(resume={again.id: "yes"})) == {"answer": "yes"}


@pytest.mark.parametrize("asks", [ask, inside, whole], ids=["function", "call", "graph"])
def test_an_answer_that_is_taken_is_not_told_of(saver: Any, caller: Caller, asks: Any) -> None:
    caller.invoke(graph(saver, asks), {})
    (thread,) = deploy.check(graph(saver, asks), saver).threads
    assert thread.verdict == "resumes"
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedAnswerWarning)
        assert caller.invoke(graph(saver, asks), Command(resume="yes")) == {"answer": "yes"}
