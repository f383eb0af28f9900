"""The eager schedule, seen from outside: what runs ahead, what does not, and what it refuses."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.errors import InvalidGraphError, InvalidUpdateError
from plait.func import task
from plait.graph import START, StateGraph
from plait.types import Command, interrupt

PATIENCE = 20
"""Seconds after which a test that waits for something fails."""


class State(TypedDict, total=False):
    quick: list[str]
    slow: list[str]
    all: list[str]


class Quick(TypedDict, total=False):
    quick: list[str]


class Slow(TypedDict, total=False):
    slow: list[str]


def two_branches(quick_nodes: list[Any], slow: Any, **options: Any) -> Any:
    """A branch of several nodes beside a branch of one, joined at the end."""
    builder = StateGraph(State)
    before = START
    for node in quick_nodes:
        builder.add_node(node.__name__, node, input_schema=Quick, writes=["quick"])
        builder.add_edge(before, node.__name__)
        before = node.__name__
    builder.add_node("slow", slow, input_schema=Slow, writes=["slow"])
    builder.add_edge(START, "slow")
    builder.add_node("join", lambda state: {"all": [*state["quick"], *state["slow"]]})
    builder.add_edge([before, "slow"], "join")
    return builder.compile(schedule="eager", **options)


def grown(state: Quick, by: str) -> Quick:
    return {"quick": [*state.get("quick", ()), by]}


def test_a_branch_goes_on_while_its_sibling_still_runs() -> None:
    third_has_run = Event()

    def first(state: Quick) -> Quick:
        return grown(state, "1")

    def second(state: Quick) -> Quick:
        return grown(state, "2")

    def third(state: Quick) -> Quick:
        third_has_run.set()
        return grown(state, "3")

    def slow(state: Slow) -> Slow:
        assert third_has_run.wait(PATIENCE), "the quick branch waits for the slow one"
        return {"slow": ["s"]}

    graph = two_branches([first, second, third], slow)
    assert graph.invoke({})["all"] == ["1", "2", "3", "s"]


async def test_a_branch_goes_on_in_an_event_loop() -> None:
    second_has_run = asyncio.Event()

    async def first(state: Quick) -> Quick:
        return grown(state, "1")

    async def second(state: Quick) -> Quick:
        second_has_run.set()
        return grown(state, "2")

    async def slow(state: Slow) -> Slow:
        async with asyncio.timeout(PATIENCE):
            await second_has_run.wait()
        return {"slow": ["s"]}

    graph = two_branches([first, second], slow)
    assert (await graph.ainvoke({}))["all"] == ["1", "2", "s"]


def test_a_question_of_an_early_task_surfaces_in_its_super_step() -> None:
    runs: list[str] = []
    asked = Event()

    def first(state: Quick) -> Quick:
        return grown(state, "1")

    def second(state: Quick) -> Quick:
        runs.append("second")
        asked.set()
        return grown(state, interrupt("go on?"))

    def slow(state: Slow) -> Slow:
        assert asked.wait(PATIENCE)
        runs.append("slow")
        return {"slow": ["s"]}

    graph = two_branches([first, second], slow, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    waiting = graph.invoke({}, config)
    assert [question.value for question in waiting["__interrupt__"]] == ["go on?"]
    assert waiting["slow"] == ["s"]
    assert graph.get_state(config).next == ("second",)
    assert graph.invoke(Command(resume="yes"), config)["all"] == ["1", "yes", "s"]
    assert runs.count("slow") == 1


def test_what_ran_ahead_of_a_question_does_not_run_again() -> None:
    runs: list[str] = []
    second_has_run = Event()

    def first(state: Quick) -> Quick:
        return grown(state, "1")

    def second(state: Quick) -> Quick:
        runs.append("second")
        second_has_run.set()
        return grown(state, "2")

    def slow(state: Slow) -> Slow:
        assert second_has_run.wait(PATIENCE)
        return {"slow": [interrupt("slow?")]}

    graph = two_branches([first, second], slow, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({}, config)
    assert graph.get_state(config).next == ("slow",)
    assert graph.invoke(Command(resume="yes"), config)["all"] == ["1", "2", "yes"]
    assert runs == ["second"]


def test_calls_of_an_early_task_are_made_once_and_its_questions_wait() -> None:
    made: list[str] = []
    asked = Event()

    @task
    def book(what: str) -> str:
        made.append(what)
        return f"booked {what}"

    @task
    def confirm(what: str) -> str:
        asked.set()
        return interrupt(f"confirm {what}?")

    def first(state: Quick) -> Quick:
        return grown(state, "1")

    def second(state: Quick) -> Quick:
        booked = book("room").result()
        return grown(state, f"{booked}: {confirm('room').result()}")

    def slow(state: Slow) -> Slow:
        assert asked.wait(PATIENCE)
        return {"slow": ["s"]}

    graph = two_branches([first, second], slow, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    waiting = graph.invoke({}, config)
    assert [question.value for question in waiting["__interrupt__"]] == ["confirm room?"]
    assert waiting["slow"] == ["s"]
    assert graph.invoke(Command(resume="yes"), config)["all"] == ["1", "booked room: yes", "s"]
    assert made == ["room"]


def test_a_node_that_writes_what_it_does_not_declare_fails() -> None:
    def first(state: Quick) -> Any:
        return {"slow": ["not mine"]}

    graph = two_branches([first], lambda state: {"slow": ["s"]})
    with pytest.raises(InvalidUpdateError, match=r"'first' wrote key 'slow'.*\['quick'\]"):
        graph.invoke({})


def test_breakpoints_keep_the_ordinary_schedule() -> None:
    runs: list[str] = []

    def first(state: Quick) -> Quick:
        runs.append("first")
        return grown(state, "1")

    def second(state: Quick) -> Quick:
        runs.append("second")
        return grown(state, "2")

    def slow(state: Slow) -> Slow:
        return {"slow": ["s"]}

    graph = two_branches([first, second], slow, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({}, config, interrupt_before=["second"])
    assert runs == ["first"]
    assert graph.invoke(None, config)["all"] == ["1", "2", "s"]


def test_an_unknown_schedule_is_refused() -> None:
    builder = StateGraph(State).add_node("a", lambda state: None).add_edge(START, "a")
    with pytest.raises(InvalidGraphError, match=r"Unknown schedule 'eagre'.*eager"):
        builder.compile(schedule="eagre")  # type: ignore[arg-type]
