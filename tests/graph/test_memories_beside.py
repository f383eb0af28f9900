"""Tasks beside each other that run one graph with memory: each goes on with what it has stored
itself, whatever the others have stored meanwhile."""

from __future__ import annotations

import asyncio
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait import START, Command, InMemorySaver, Send, SqliteSaver, StateGraph, interrupt
from plait.pregel.nested import Nest
from plait.runnables import RunnableLambda

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    n: int
    log: Annotated[list[Any], add]


def asks(state: State) -> State:
    n = state["n"]
    first, second = interrupt(f"first of {n}"), interrupt(f"second of {n}")
    return {"log": [f"{n}: {first}, {second}"]}


def in_a_row(node: Any, **options: Any) -> Any:
    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile(**options)


def fan_out(*, deep: bool, saver: Any) -> Any:
    """Three tasks that call a graph with memory; `deep`: inside a graph without memory."""
    inner = in_a_row(asks, checkpointer=True)
    if deep:
        inner = in_a_row(inner)

    def call(state: State) -> State:
        return {"log": [inner.invoke({"n": state["n"], "log": []})["log"]]}

    async def acall(state: State) -> State:
        return {"log": [(await inner.ainvoke({"n": state["n"], "log": []}))["log"]]}

    builder = StateGraph(State).add_node("call", RunnableLambda(call, acall))
    sends = [Send("call", {"n": n}) for n in range(3)]
    return builder.add_conditional_edges(START, lambda state: sends, ["call"]).compile(saver)


def invoke(graph: Any, given: Any, way: str) -> Any:
    if way == "sync":
        return graph.invoke(given, THREAD)
    return asyncio.run(graph.ainvoke(given, THREAD))


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("deep", [False, True])
def test_each_task_gets_the_answers_to_its_questions(tmp_path: Path, deep: bool, way: str) -> None:
    given: Any = {"log": []}
    for _ in range(2):
        with SqliteSaver(tmp_path / "threads.db") as saver:
            asked = invoke(fan_out(deep=deep, saver=saver), given, way)["__interrupt__"]
            assert len(asked) == 3
            given = Command(resume={one.id: f"to the {one.value}" for one in asked})
    with SqliteSaver(tmp_path / "threads.db") as saver:
        result = invoke(fan_out(deep=deep, saver=saver), given, way)
    assert "__interrupt__" not in result
    expected = [[f"{n}: to the first of {n}, to the second of {n}"] for n in range(3)]
    assert result["log"] == expected


def test_they_are_answered_one_by_one() -> None:
    graph = fan_out(deep=False, saver=InMemorySaver())
    result = graph.invoke({"log": []}, THREAD)
    for _ in range(6):
        one = result["__interrupt__"][-1]
        result = graph.invoke(Command(resume={one.id: f"to the {one.value}"}), THREAD)
    expected = [[f"{n}: to the first of {n}, to the second of {n}"] for n in range(3)]
    assert result["log"] == expected


def test_a_question_of_an_older_build_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = in_a_row(asks, checkpointer=True)

    def call(state: State) -> State:
        return {"log": inner.invoke({"n": state["n"], "log": []})["log"]}

    builder = StateGraph(State).add_node("call", call)
    sends = [Send("call", {"n": 1})]
    graph = builder.add_conditional_edges(START, lambda state: sends, ["call"]).compile(
        checkpointer=InMemorySaver()
    )
    with monkeypatch.context() as older:
        older.setattr(Nest, "caller", None)  # it did not say which task ran the graph
        graph.invoke({"log": []}, THREAD)
    graph.invoke(Command(resume="a"), THREAD)
    assert graph.invoke(Command(resume="b"), THREAD)["log"] == ["1: a, b"]


def test_the_state_of_each_is_shown() -> None:
    builder = StateGraph(State).add_node("call", in_a_row(asks, checkpointer=True))
    sends = [Send("call", {"n": n, "log": []}) for n in range(3)]
    builder.add_conditional_edges(START, lambda state: sends, ["call"])
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"log": []}, THREAD)
    tasks = graph.get_state(THREAD, subgraphs=True).tasks
    assert [len(task.interrupts) for task in tasks] == [1, 1, 1]
    for task in tasks:
        assert task.state.interrupts == task.interrupts


def test_a_memory_is_shown_under_a_node_that_was_renamed() -> None:
    saver = InMemorySaver()

    def graph(name: str, **former: Any) -> Any:
        middle = in_a_row(in_a_row(lambda state: {"log": [interrupt("?")]}, checkpointer=True))
        builder = StateGraph(State).add_node(name, middle, **former)
        return builder.add_edge(START, name).compile(checkpointer=saver)

    graph("before").invoke({"log": []}, THREAD)
    now = graph("now", renamed_from="before")
    now.invoke(Command(resume="yes"), THREAD)
    now.invoke({"log": []}, THREAD)
    (task,) = now.get_state(THREAD, subgraphs=True).tasks
    (memory,) = task.state.tasks
    assert memory.state.interrupts == task.interrupts
