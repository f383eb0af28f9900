"""The eager schedule, seen from outside: what runs ahead, what does not, and what it refuses."""

from __future__ import annotations

import asyncio
import operator
from pathlib import Path
from threading import Event
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import (
    ConfigError,
    InvalidGraphError,
    InvalidUpdateError,
    NodeError,
    NodeTimeoutError,
)
from plait.func import task
from plait.graph import START, StateGraph
from plait.prebuilt.injection import state_around
from plait.runnables import RunnableLambda
from plait.runtime import Runtime
from plait.types import Command, Send, interrupt

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


# --- Sends ---------------------------------------------------------------------------------------


class Mapped(TypedDict, total=False):
    done: Annotated[list[str], operator.add]
    total: int


def mapped(first: Any, *later: Any, join: Any = None, **options: Any) -> Any:
    """Two chains, "a" and "b": a `Send` to the first node, whose Commands send to the others."""
    builder = StateGraph(Mapped)
    names = [node.__name__ for node in (first, *later)]
    for name, node in zip(names, (first, *later), strict=True):
        builder.add_node(name, node, writes=["done"], destinations=tuple(names))
    builder.add_conditional_edges(
        START, lambda state: [Send("first", "a"), Send("first", "b")], ["first"]
    )
    if join is not None:
        builder.add_node("join", join, defer=True).add_edge(names[-1], "join")
    return builder.compile(schedule="eager", **options)


def sent_on(name: str, item: str, goal: str) -> Command[Any]:
    return Command(update={"done": [f"{name} {item}"]}, goto=Send(goal, item))


def test_chains_of_sends_go_on_although_those_before_them_still_run() -> None:
    third_has_run = Event()

    def first(item: str) -> Command[Any]:
        if item == "a":
            assert third_has_run.wait(PATIENCE), "chain b waits for chain a"
        return sent_on("first", item, "second")

    def second(item: str) -> Command[Any]:
        return sent_on("second", item, "third")

    def third(item: str) -> Mapped:
        if item == "b":
            third_has_run.set()
        return {"done": [f"third {item}"]}

    graph = mapped(first, second, third, join=lambda state: {"total": len(state["done"])})
    for saver in (None, InMemorySaver()):
        graph.checkpointer = saver
        third_has_run.clear()
        assert graph.invoke({}, {"configurable": {"thread_id": "1"}}) == {
            "done": [f"{name} {item}" for name in ("first", "second", "third") for item in "ab"],
            "total": 6,
        }


def test_a_question_in_a_chain_keeps_its_task_through_another_process(tmp_path: Path) -> None:
    ids: list[tuple[str, str]] = []
    asked, made = Event(), list[str]()

    @task
    def book(item: str) -> str:
        made.append(item)
        return f"booked {item}"

    def first(item: str) -> Command[Any]:
        if item == "a":
            assert asked.wait(PATIENCE)
        return sent_on("first", item, "second")

    def second(item: str, runtime: Runtime[Any]) -> Mapped:
        assert runtime.execution_info is not None
        ids.append((item, runtime.execution_info.task_id))
        booked = book(item).result()
        if item == "b":
            asked.set()
            booked = f"{booked}: {interrupt('go on?')}"
        return {"done": [booked]}

    config = {"configurable": {"thread_id": "1"}}
    path = str(tmp_path / "threads.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = mapped(first, second, checkpointer=saver)
        waiting = graph.invoke({}, config)
        assert [question.value for question in waiting["__interrupt__"]] == ["go on?"]
        pending = graph.get_state(config)
        assert pending.next == ("second",)
        assert [each.id for each in pending.tasks] == [dict(ids)["a"], dict(ids)["b"]]
    with SqliteSaver.from_conn_string(path) as saver:
        graph = mapped(first, second, checkpointer=saver)
        done = graph.invoke(Command(resume="yes"), config)["done"]
    assert done == ["first a", "first b", "booked a", "booked b: yes"]
    assert len(set(ids)) == 2
    assert sorted(made) == ["a", "b"]


def test_a_subgraph_in_a_chain_keeps_its_checkpoints_when_its_super_step_comes() -> None:
    counted, runs = Event(), list[str]()

    def count(state: Mapped) -> Mapped:
        runs.append("count")
        return {"done": ["counted"]}

    def tell(state: Mapped) -> None:
        counted.set()

    def ask(state: Mapped) -> Mapped:
        return {"done": [interrupt("go on?")]}

    inner = StateGraph(Mapped).add_sequence([count, tell, ask]).add_edge(START, "count")

    def first(item: str) -> Command[Any]:
        if item == "a":
            assert counted.wait(PATIENCE)
            return Command(update={"done": ["a"]})
        return Command(update={"done": ["b"]}, goto=Send("inner", {"done": []}))

    builder = StateGraph(Mapped)
    builder.add_node("first", first, writes=["done"], destinations=("inner",))
    builder.add_node("inner", inner.compile())
    builder.add_conditional_edges(
        START, lambda state: [Send("first", "a"), Send("first", "b")], ["first"]
    )
    graph = builder.compile(schedule="eager", checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    waiting = graph.invoke({}, config)
    assert [question.value for question in waiting["__interrupt__"]] == ["go on?"]
    inside = graph.get_state(config, subgraphs=True).tasks[0].state
    assert inside.values == {"done": ["counted"]}
    done = graph.invoke(Command(resume="yes"), config)["done"]
    assert done == ["a", "b", "counted", "yes"]
    assert runs == ["count"]


def test_the_timeout_of_a_send_holds_where_it_runs_ahead() -> None:
    timed_out = Event()

    async def first(item: str) -> Command[Any]:
        if item == "a":
            for _ in range(100):
                await asyncio.sleep(0.01)
                if timed_out.is_set():
                    break
            return Command()
        return Command(goto=Send("second", item, timeout=0.01))

    async def second(item: str) -> Mapped:
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            timed_out.set()
        return {}

    with pytest.raises(NodeTimeoutError):
        asyncio.run(mapped(first, second).ainvoke({}))
    assert timed_out.is_set()


def test_a_node_that_leads_where_it_does_not_declare_fails() -> None:
    def first(state: Quick) -> Any:
        return Command(update=grown(state, "1"), goto="slow")

    builder = StateGraph(State)
    builder.add_node(first, writes=["quick"], destinations=("second",))
    builder.add_node("second", lambda state: {}).add_node("slow", lambda state: {"slow": ["s"]})
    builder.add_edge(START, "first").add_edge(START, "second").add_edge("second", "slow")
    with pytest.raises(InvalidUpdateError, match=r"'first' led to node 'slow'.*\['second'\]"):
        builder.compile(schedule="eager").invoke({})


def test_an_error_handler_leads_where_it_likes() -> None:
    def first(state: Quick) -> Quick:
        raise ValueError("no")

    def mend(state: Quick, error: NodeError) -> Command[Any]:
        return Command(update={"quick": ["mended"]}, goto=Send("third", "x"))

    builder = StateGraph(State)
    builder.add_node(first, writes=["quick"], error_handler=mend)
    builder.add_node("second", lambda state: {}, writes=[])
    builder.add_node("third", lambda item: {"slow": [item]}, writes=["slow"])
    builder.add_edge(START, "first").add_edge(START, "second")
    graph = builder.compile(schedule="eager")
    assert graph.invoke({}) == {"quick": ["mended"], "slow": ["x"]}


def test_writes_that_do_not_fit_are_refused_at_the_end_of_their_super_step() -> None:
    def write(state: Any) -> Quick:
        return {"quick": ["1"]}

    runs: list[str] = []

    def after(state: Quick) -> Quick:
        runs.append("after")
        return state

    builder = StateGraph(State)
    builder.add_node("a", write, writes=["quick"]).add_node("b", write, writes=["quick"])
    builder.add_node("slow", lambda state: runs.append("slow"), writes=["slow"])
    builder.add_node("after", after, writes=["quick"])
    for name in ("a", "b", "slow"):
        builder.add_edge(START, name)
    builder.add_edge("a", "after")
    with pytest.raises(InvalidUpdateError, match="'quick'"):
        builder.compile(schedule="eager").invoke({}, {"max_concurrency": 1})
    assert runs == ["slow"]


def test_code_that_looks_at_the_state_finds_that_of_its_super_step() -> None:
    seen: list[Any] = []
    looked = Event()

    def ask(state: Quick) -> Command[Any]:
        return Command(update=grown(state, "asked"), goto=Send("tools", "call"))

    def look(call: str) -> None:
        seen.append(state_around())
        looked.set()

    def slow(state: Slow) -> Slow:
        assert looked.wait(PATIENCE)
        return {"slow": ["s"]}

    builder = StateGraph(State)
    builder.add_node(ask, writes=["quick"], destinations=("tools",))
    builder.add_node("tools", RunnableLambda(look), input_schema=Quick, writes=[])
    builder.add_node("slow", slow, writes=["slow"])
    builder.add_edge(START, "ask").add_edge(START, "slow")
    builder.compile(schedule="eager").invoke({})
    assert seen == [{"quick": ["asked"]}]


def test_a_function_that_was_sent_ahead_may_not_look_at_what_is_not_certain() -> None:
    looked = Event()

    def ask(state: Quick) -> Command[Any]:
        return Command(update=grown(state, "asked"), goto=Send("look", "call"))

    def look(call: str) -> None:
        try:
            state_around()
        finally:
            looked.set()

    def slow(state: Slow) -> Slow:
        assert looked.wait(PATIENCE)
        return {"slow": ["s"]}

    builder = StateGraph(State)
    builder.add_node(ask, writes=["quick"], destinations=("look",))
    builder.add_node(look, writes=[])
    builder.add_node("slow", slow, writes=["slow"])
    builder.add_edge(START, "ask").add_edge(START, "slow")
    with pytest.raises(ConfigError, match="started ahead of its super-step reads key"):
        builder.compile(schedule="eager").invoke({})
