"""A question counts as soon as it is asked, whatever else still runs in its super-step."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.errors import ThreadBusyError
from plait.func import entrypoint, task
from plait.testing.processes import GAVE_UP, Child
from plait.types import Command, interrupt

from .graphs import CONFIG, adder, fan
from .savers import Place
from .test_owners import Gate

Start = Callable[..., Child]


def seen(graph: Any, count: int = 1) -> None:
    """Wait until so many questions show in the state."""
    deadline = monotonic() + GAVE_UP
    while len(graph.get_state(CONFIG).interrupts) < count:
        assert monotonic() < deadline, "the question does not show"
        Event().wait(0.005)


def asks(state: Any) -> dict[str, Any]:
    """Asks one question."""
    return {"items": [interrupt("sure?")]}


def asking_slowly(db: Place, gate: Gate, tell: Callable[[str], None]) -> None:
    """A run that asks, says so when the question shows, and waits at the gate."""

    def slow(state: Any) -> dict[str, Any]:
        seen(graph)
        tell("asked")
        gate.wait()
        return {"items": ["slow"]}

    with db.open() as saver:
        graph = fan(saver, ("ask", asks), ("slow", slow))
        graph.invoke({"items": []}, CONFIG)
    tell("ended")


def test_a_question_is_seen_meanwhile_and_outlives_its_process(db: Place, start: Start) -> None:
    gate = Gate()
    owner = start(lambda tell: asking_slowly(db, gate, tell))
    assert owner.hear() == "asked"
    with db.open() as saver:
        graph = fan(saver, ("ask", asks), ("slow", adder("slow")))
        (question,) = graph.get_state(CONFIG).interrupts
        assert question.value == "sure?"
        owner.signal(signal.SIGKILL)
        owner.wait()
        answered = graph.invoke(Command(resume={question.id: "yes"}), CONFIG)
        assert answered == {"items": ["yes", "slow", "last"]}


def test_an_answer_given_meanwhile_is_refused_or_waits(db: Place, start: Start) -> None:
    gate = Gate()
    owner = start(lambda tell: asking_slowly(db, gate, tell))
    assert owner.hear() == "asked"
    with db.open() as saver, ThreadPoolExecutor() as pool:
        graph = fan(saver, ("ask", asks), ("slow", adder("again")))
        with pytest.raises(ThreadBusyError):
            graph.invoke(Command(resume="yes"), CONFIG)
        patient: Any = {"configurable": {"thread_id": "1", "thread_busy": "wait"}}
        answered = pool.submit(graph.invoke, Command(resume="yes"), patient)
        gate.open()
        assert answered.result() == {"items": ["yes", "slow", "last"]}
    assert owner.hear() == "ended"


def test_questions_are_told_once_and_before_slower_tasks_end(saver: Any) -> None:
    def slow(state: Any) -> dict[str, Any]:
        seen(graph, 2)
        return {"items": ["slow"]}

    graph = fan(saver, ("ask", asks), ("ask too", asks), ("slow", slow))
    parts = list(graph.stream({"items": []}, CONFIG, stream_mode=["updates", "tasks"]))
    told = [
        q.id for mode, part in parts if mode == "updates" for q in part.get("__interrupt__", ())
    ]
    results = [part["name"] for mode, part in parts if mode == "tasks" and "result" in part]
    assert len(told) == len(set(told)) == 2
    assert sorted(results) == ["ask", "ask too", "slow"]
    assert results[-1] == "slow", "asked first"
    asked = graph.get_state(CONFIG).interrupts
    assert [q.id for q in asked] == sorted(told, key=[q.id for q in asked].index)
    done = graph.invoke(Command(resume=dict(zip(told, "xy", strict=True))), CONFIG)
    assert sorted(done["items"]) == ["last", "slow", "x", "y"]


def test_the_result_has_all_questions_in_the_order_of_tasks() -> None:
    def late(state: Any) -> dict[str, Any]:
        seen(graph)
        return {"items": [interrupt("late?")]}

    graph = fan(InMemorySaver(), ("a", late), ("b", asks))
    asked = graph.invoke({"items": []}, CONFIG)["__interrupt__"]
    assert [question.value for question in asked] == ["late?", "sure?"]


def test_what_a_called_task_asks_is_stored_with_its_caller(saver: Any) -> None:
    """A crash right after the question, and its answer, find both on record."""

    @task
    def inner(name: str) -> str:
        return f"{name}: {interrupt(f'{name}?')}"

    def calls(state: Any) -> dict[str, Any]:
        return {"items": [inner("first").result()]}

    def fails(state: Any) -> dict[str, Any]:
        seen(graph)
        if not state["items"]:
            raise KeyboardInterrupt
        return {}

    graph = fan(saver, ("calls", calls), ("fails", fails))
    try:
        graph.invoke({"items": []}, CONFIG)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("the process did not end here")
    graph = fan(saver, ("calls", calls), ("fails", adder("mended")))
    assert graph.invoke(Command(resume="yes"), CONFIG)["items"] == ["first: yes", "mended", "last"]


def in_a_node(saver: Any) -> Any:
    def ask_on(state: Any) -> dict[str, Any]:
        return {"items": [interrupt(f"more {nth}?") for nth in range(60)]}

    return fan(saver, ("ask", ask_on)), {"items": []}


def in_a_workflow(saver: Any) -> Any:
    @entrypoint(checkpointer=saver)
    def ask_on(given: Any) -> list[str]:
        return [interrupt(f"more {nth}?") for nth in range(60)]

    return ask_on, "begin"


def in_a_graph_inside(saver: Any) -> Any:
    inner, given = in_a_node(None)
    return fan(saver, ("inner", lambda state: {"items": inner.invoke(given)["items"]})), given


@pytest.mark.parametrize("make", [in_a_node, in_a_workflow, in_a_graph_inside])
def test_each_answer_is_stored_once_however_often_its_task_asks_again(make: Any) -> None:
    saver, answer = InMemorySaver(), "x" * 1000
    graph, given = make(saver)
    asked = graph.invoke(given, CONFIG)
    bytes_at: dict[int, int] = {}
    for turn in range(1, 60):
        assert "__interrupt__" in asked
        asked = graph.invoke(Command(resume=answer), CONFIG)
        bytes_at[turn] = saver.usage("1").total
    grown = bytes_at[50] - bytes_at[25]
    places = 2 if make is in_a_graph_inside else 1  # the task that asks, and the one around it
    assert grown < 1.5 * 25 * len(answer) * places
