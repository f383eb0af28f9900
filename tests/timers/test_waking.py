"""Several that wake the threads of one database: each thread goes on once, and no further than its
time says."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.errors import ThreadBusyError
from plait.graph import START, StateGraph
from plait.stored import Woken, awake, wake
from plait.timers import sleep


class State(TypedDict, total=False):
    items: Annotated[list[str], operator.add]


def awakened(graph: Any) -> Iterator[Woken]:
    """`wake` by its async twin."""
    found = awake(graph)

    async def following() -> Woken | None:
        return await anext(found, None)

    with asyncio.Runner() as runner:
        while (woken := runner.run(following())) is not None:
            yield woken


waking = pytest.mark.parametrize("waken", [wake, awakened], ids=["sync", "async"])
Waken = Callable[[Any], Iterator[Woken]]


def naps(saver: Any, ran: list[str]) -> Any:
    """Sleeps, works, and stops before it publishes."""

    def nap(state: State) -> State:
        sleep(5)
        ran.append("nap")
        if "fail" in state.get("items", []):
            raise ValueError("beyond repair")
        return {"items": ["napped"]}

    def publish(state: State) -> State:
        ran.append("publish")
        return {"items": ["published"]}

    builder: Any = StateGraph(State).add_node(nap).add_node(publish)
    builder.add_edge(START, "nap").add_edge("nap", "publish")
    return builder.compile(checkpointer=saver, interrupt_before=["publish"])


def at(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


@waking
def test_what_another_run_has_woken_does_not_go_on_further(env: Any, waken: Waken) -> None:
    saver, ran = InMemorySaver(), list[str]()
    graph, other = naps(saver, ran), naps(saver, ran)
    for thread in "ab":
        graph.invoke({"items": []}, at(thread))
    env.clock += 5
    first = waken(graph)
    assert next(first) == ("a", False, None)
    assert [*waken(other)] == [("b", False, None)]
    assert [*first] == []
    assert ran == ["nap", "nap"]
    assert graph.get_state(at("b")).next == ("publish",), "nobody has said that it may publish"


@waking
@pytest.mark.parametrize("given", [[], ["fail"]], ids=["stops", "fails"])
def test_nor_does_one_that_is_woken_at_the_last_moment(
    env: Any, waken: Waken, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saver, ran = InMemorySaver(), list[str]()
    graph, other = naps(saver, ran), naps(saver, ran)
    graph.invoke({"items": given}, at("a"))
    env.clock += 5
    invoke, ainvoke = graph.invoke, graph.ainvoke

    def late(*args: Any, **options: Any) -> Any:
        assert [each.thread_id for each in wake(other)] == ["a"]
        return invoke(*args, **options)

    async def alate(*args: Any, **options: Any) -> Any:
        assert [each.thread_id async for each in awake(other)] == ["a"]
        return await ainvoke(*args, **options)

    monkeypatch.setattr(graph, "invoke", late)
    monkeypatch.setattr(graph, "ainvoke", alate)
    (woken,) = waken(graph)
    assert isinstance(woken.error, ThreadBusyError)
    assert ran == ["nap"]


@waking
def test_a_thread_that_is_deleted_meanwhile_holds_up_no_other(env: Any, waken: Waken) -> None:
    saver, ran = InMemorySaver(), list[str]()
    graph = naps(saver, ran)
    for thread in "abc":
        graph.invoke({"items": []}, at(thread))
    env.clock += 5
    found = waken(graph)
    assert next(found).thread_id == "a"
    saver.delete_thread("b")
    assert [*found] == [("c", False, None)]


@waking
def test_a_thread_that_is_deleted_once_it_was_woken_is_no_error(env: Any, waken: Waken) -> None:
    saver, ran = InMemorySaver(), list[str]()
    graph = naps(saver, ran)
    graph.invoke({"items": []}, at("a"))
    env.clock += 5
    invoke, ainvoke = graph.invoke, graph.ainvoke
    graph.invoke = lambda *args, **options: (invoke(*args, **options), saver.delete_thread("a"))

    async def deleting(*args: Any, **options: Any) -> None:
        await ainvoke(*args, **options)
        await saver.adelete_thread("a")

    graph.ainvoke = deleting
    assert [*waken(graph)] == [("a", False, None)]


@waking
def test_a_thread_wakes_at_each_time_that_it_waits_for(env: Any, waken: Waken) -> None:
    builder: Any = StateGraph(State)
    for seconds in (50, 5, 500):

        def nap(state: State, seconds: int = seconds) -> State:
            sleep(seconds)
            return {"items": [str(seconds)]}

        builder.add_node(f"nap {seconds}", nap)
        builder.add_edge(START, f"nap {seconds}")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"items": []}, at("a"))
    for seconds, waits in ((5, True), (45, True), (450, False)):
        env.clock += seconds - 1
        assert [*waken(graph)] == []
        env.clock += 1
        assert [*waken(graph)] == [("a", waits, None)]
    assert sorted(graph.get_state(at("a")).values["items"]) == ["5", "50", "500"]
