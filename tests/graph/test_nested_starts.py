"""A nested run looks for what is stored of it where something may be, and nowhere else."""

from __future__ import annotations

import asyncio
from operator import add
from threading import Event
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.log.requests import ReadLane
from plait.checkpoint.memory import InMemorySaver
from plait.errors import NodeCancelledError, NodeTimeoutError
from plait.func import task
from plait.graph import END, START, StateGraph
from plait.types import Command, RetryPolicy, Send, interrupt

ONCE_MORE = RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False, retry_on=ValueError)
THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    n: int
    out: Annotated[list[int], add]


class Out(TypedDict, total=False):
    out: Annotated[list[int], add]


class WatchedSaver(InMemorySaver):
    """A saver in memory that notes which namespaces are looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.looked_at: list[str] = []

    def execute(self, request: Any) -> Any:
        if isinstance(request, ReadLane):
            self.looked_at.append(request.ns)
        return super().execute(request)


def _inner(effects: list[int]) -> Any:
    """A graph of one node with an effect."""

    def work(state: State) -> State:
        effects.append(state["n"])
        return {"out": [state["n"] * 2]}

    return StateGraph(State, output_schema=Out).add_node(work).add_edge(START, "work").compile()


def _outer(sub: Any, *, saver: Any = None, retry: Any = None) -> Any:
    """A graph that runs node `sub` three times beside each other."""
    builder = StateGraph(State).add_node("sub", sub, retry_policy=retry)
    builder.add_conditional_edges(
        START, lambda state: [Send("sub", {"n": i}) for i in range(3)], ["sub"]
    )
    return builder.compile(checkpointer=saver or InMemorySaver())


def test_a_first_run_reads_no_namespace_of_the_runs_inside_it() -> None:
    saver, effects = WatchedSaver(), list[int]()
    inner = _inner(effects)
    graph = _outer(lambda state: {"out": inner.invoke(state)["out"]}, saver=saver)
    for run in range(2):
        saver.looked_at.clear()
        assert graph.invoke({"n": 0}, THREAD)["out"] == [0, 2, 4] * (run + 1)
        assert set(saver.looked_at) == {""}
    assert len(effects) == 6


@pytest.mark.parametrize("as_node", [False, True])
def test_what_a_nested_run_did_is_not_repeated_when_its_node_is_retried(as_node: bool) -> None:
    effects, failed = list[int](), set[int]()
    inner = _inner(effects)

    def after(state: State) -> State:
        if state["n"] not in failed:
            failed.add(state["n"])
            raise ValueError("the first attempt fails after the work")
        return {}

    def sub(state: State) -> State:
        out = inner.invoke(state)["out"]
        after(state)
        return {"out": out}

    both = StateGraph(State, output_schema=Out).add_node("inner", inner).add_node(after)
    both.add_edge(START, "inner").add_edge("inner", "after").add_edge("after", END)
    graph = _outer(both.compile() if as_node else sub, retry=ONCE_MORE)
    assert graph.invoke({"n": 0}, THREAD)["out"] == [0, 2, 4]
    assert sorted(effects) == [0, 1, 2]


def test_what_ran_inside_a_called_task_is_not_repeated_when_its_caller_is_retried() -> None:
    effects, failed = list[int](), set[int]()
    inner = _inner(effects)

    @task
    def call(n: int) -> list[int]:
        out = inner.invoke({"n": n})["out"]
        if n not in failed:
            failed.add(n)
            raise ValueError("the first call fails after the work")
        return out

    graph = _outer(lambda state: {"out": call(state["n"]).result()}, retry=ONCE_MORE)
    assert graph.invoke({"n": 0}, THREAD)["out"] == [0, 2, 4]
    assert sorted(effects) == [0, 1, 2]


def test_what_a_nested_run_did_is_not_repeated_by_the_run_that_goes_on() -> None:
    effects, failed = list[int](), set[int]()
    inner = _inner(effects)

    def sub(state: State) -> State:
        out = inner.invoke(state)["out"]
        if state["n"] not in failed:
            failed.add(state["n"])
            raise ValueError("the first run fails after the work")
        return {"out": out}

    graph = _outer(sub)
    for _ in range(3):
        with pytest.raises(ValueError, match="first run"):
            graph.invoke({"n": 0} if not failed else None, THREAD)
        if len(failed) == 3:
            break
    assert graph.invoke(None, THREAD)["out"] == [0, 2, 4]
    assert sorted(effects) == [0, 1, 2]


def test_what_a_nested_run_did_before_its_question_is_not_repeated_with_the_answer() -> None:
    effects = list[int]()
    inner = _inner(effects)

    def ask(state: State) -> State:
        return {"out": [interrupt(state["n"])]}

    both = StateGraph(State, output_schema=Out).add_node("inner", inner).add_node(ask)
    both.add_edge(START, "inner").add_edge("inner", "ask")
    graph = _outer(both.compile())
    asked = graph.invoke({"n": 0}, THREAD)["__interrupt__"]
    answers = {question.id: question.value + 10 for question in asked}
    assert graph.invoke(Command(resume=answers), THREAD)["out"] == [0, 10, 2, 11, 4, 12]
    assert sorted(effects) == [0, 1, 2]


def test_a_replay_goes_into_the_runs_of_that_time() -> None:
    effects = list[int]()
    inner = _inner(effects)
    graph = _outer(inner)
    graph.invoke({"n": 0}, THREAD)
    before = next(s for s in graph.get_state_history(THREAD) if s.next == ("sub",) * 3)
    assert graph.invoke(None, before.config)["out"] == [0, 2, 4]
    assert sorted(effects) == [0, 0, 1, 1, 2, 2]


def test_a_graph_with_memory_finds_it_in_each_fresh_run() -> None:
    def count(state: State) -> State:
        return {"out": [len(state.get("out", ()))]}

    inner = StateGraph(State).add_node(count).add_edge(START, "count").compile(checkpointer=True)
    graph = StateGraph(State).add_node("sub", lambda state: {"out": inner.invoke({"n": 0})["out"]})
    outer = graph.add_edge(START, "sub").compile(checkpointer=InMemorySaver())
    assert outer.invoke({"n": 0}, THREAD)["out"] == [0]
    assert outer.invoke({"n": 0}, THREAD)["out"] == [0, 0, 1]


def test_a_replay_from_a_checkpoint_of_a_nested_run_starts_there() -> None:
    effects = list[str]()

    def first(state: State) -> State:
        effects.append("first")
        return {}

    def second(state: State) -> State:
        effects.append("second")
        return {"out": [interrupt("?")]}

    inner = StateGraph(State).add_node(first).add_node(second)
    sub = inner.add_edge(START, "first").add_edge("first", "second").compile()
    graph = StateGraph(State).add_node("sub", sub).add_edge(START, "sub")
    outer = graph.compile(checkpointer=InMemorySaver())
    outer.invoke({"n": 0}, THREAD)
    nested: Any = outer.get_state(THREAD, subgraphs=True).tasks[0].state
    assert nested.next == ("second",)
    outer.invoke(None, nested.config)
    assert effects == ["first", "second", "second"]


def test_a_graph_called_with_a_config_keeps_what_is_around_it() -> None:
    seen: list[Any] = []

    def inside(state: State, config: Any) -> Any:
        said = config["metadata"]["user"], config["configurable"]["place"], config["tags"]
        seen.append(said)
        return {}

    inner = StateGraph(State).add_node(inside).add_edge(START, "inside").compile()

    def outside(state: State) -> Any:
        inner.invoke({"n": 1}, {"tags": ["its own"]})
        return {}

    outer = StateGraph(State).add_node(outside).add_edge(START, "outside").compile()
    around = {"metadata": {"user": "ann"}, "configurable": {"place": "here"}, "tags": ["around"]}
    outer.invoke({"n": 1}, around)
    assert seen == [("ann", "here", ["around", "its own"])]


async def test_a_node_that_was_given_up_starts_no_run_any_more() -> None:
    ran: list[str] = []
    given_up, told = Event(), Event()

    def inside(state: State) -> Any:
        ran.append("inside")
        return {}

    inner = StateGraph(State).add_node(inside).add_edge(START, "inside").compile()

    def slow(state: State) -> Any:
        given_up.wait(20)
        try:
            inner.invoke({"n": 1})
        except NodeCancelledError as error:
            ran.append(str(error))
        finally:
            told.set()

    outer = StateGraph(State).add_node("slow", slow, timeout=0.05).add_edge(START, "slow").compile()
    with pytest.raises(NodeTimeoutError):
        await outer.ainvoke({"n": 1})
    given_up.set()
    assert await asyncio.to_thread(told.wait, 20)
    assert ran == ["Task 'inside' does not start: a run around it was stopped."]
