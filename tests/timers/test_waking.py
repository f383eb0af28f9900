"""Several that wake the threads of one database: each thread goes on once, and no further than its
time says."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterator
from math import inf
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import (
    ConfigTypeError,
    RunDeadlineError,
    ThreadBusyError,
    UnknownInterruptError,
)
from plait.func import task
from plait.graph import START, StateGraph
from plait.runnables import RunnableConfig
from plait.runtime import Runtime
from plait.stored import StoredThread, Woken, awake, list_threads, wake
from plait.timers import sleep
from plait.types import Command, Send, interrupt


class State(TypedDict, total=False):
    items: Annotated[list[str], operator.add]


def awakened(graph: Any, **given: Any) -> Iterator[Woken]:
    """`wake` by its async twin."""
    found = awake(graph, **given)

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


# --- what is not stored, and a call needs -------------------------------------------------------


class Whose(TypedDict):
    user: str


def named(saver: Any) -> Any:
    """Sleeps, and says for whom, and by what its config says."""

    def nap(state: State, runtime: Runtime[Whose], config: RunnableConfig) -> State:
        sleep(5)
        return {"items": [runtime.context["user"], *config["configurable"]["words"]]}

    builder: Any = StateGraph(State, context_schema=Whose).add_node(nap).add_edge(START, "nap")
    return builder.compile(checkpointer=saver)


def options_of(thread: StoredThread) -> Any:
    user = thread.metadata["user"]
    config = {"configurable": {"words": ["hello"], "thread_id": "of nobody"}, "metadata": {"n": 1}}
    return {"context": {"user": user}, "config": config}


async def aoptions_of(thread: StoredThread) -> Any:
    return options_of(thread)


@pytest.mark.parametrize(
    ("waken", "options"),
    [(wake, options_of), (awakened, options_of), (awakened, aoptions_of)],
    ids=["sync", "async", "async function"],
)
def test_a_woken_run_is_given_the_context_and_the_config_of_its_thread(
    env: Any, waken: Any, options: Any
) -> None:
    saver = InMemorySaver()
    graph = named(saver)
    for user in ("ada", "grace"):
        graph.invoke({"items": []}, {**at(f"of {user}"), "metadata": {"user": user}})
    env.clock += 5
    woken = [*waken(graph, options_of=options)]
    assert woken == [("of ada", False, None), ("of grace", False, None)]
    for user in ("ada", "grace"):
        state = graph.get_state(at(f"of {user}"))
        assert state.values["items"] == [user, "hello"]
        assert state.metadata["n"] == 1


@waking
def test_a_thread_whose_options_nobody_knows_waits_on(env: Any, waken: Any) -> None:
    saver = InMemorySaver()
    graph = named(saver)
    graph.invoke({"items": []}, at("a"))
    env.clock += 5
    (woken,) = waken(graph, options_of=options_of)
    assert isinstance(woken.error, KeyError)
    (woken,) = waken(graph, options_of=lambda thread: "ada")
    assert isinstance(woken.error, ConfigTypeError)
    assert "options_of gives a dict" in str(woken.error)
    assert due(saver) is not None, "its time was not used up"
    with pytest.raises(ConfigTypeError, match="options_of is a function"):
        [*waken(graph, options_of={"context": {"user": "ada"}})]


def test_an_async_function_of_options_is_for_awake() -> None:
    with pytest.raises(ConfigTypeError, match="call awake"):
        [*wake(named(InMemorySaver()), options_of=aoptions_of)]


# --- threads that are written to while they wait --------------------------------------------------


@task
def nap_in_a_task(seconds: float) -> str:
    sleep(seconds)
    return "slept"


def asks(seconds: float) -> str:
    return interrupt("ok?", timeout=seconds, default="nobody")


def due(saver: Any) -> float | None:
    (thread,) = list_threads(saver)
    return thread.due


def waits_for(seconds: float, code: Callable[[float], Any], saver: Any, *, inside: bool) -> Any:
    """Waits in a node, or in a graph inside one."""
    builder: Any = StateGraph(State)
    builder.add_node("wait", lambda state: {"items": [code(seconds) or "slept"]})
    builder.add_edge(START, "wait")
    if inside:
        outer: Any = StateGraph(State).add_node("inner", builder.compile())
        builder = outer.add_edge(START, "inner")
    return builder.compile(checkpointer=saver)


@waking
@pytest.mark.parametrize("inside", [False, True], ids=["node", "graph"])
@pytest.mark.parametrize(
    ("code", "came"),
    [(sleep, "slept"), (lambda s: nap_in_a_task(s).result(), "slept"), (asks, "nobody")],
    ids=["sleep", "task", "question"],
)
def test_a_thread_that_is_written_to_still_wakes_at_its_time(
    env: Any, waken: Waken, inside: bool, code: Any, came: str
) -> None:
    saver = InMemorySaver()
    graph = waits_for(60, code, saver, inside=inside)
    graph.invoke({"items": []}, at("a"))
    time = env.now() + 60
    env.clock += 30
    for note in ("a note", "another"):
        graph.update_state(at("a"), {"items": [note]})
        assert due(saver) == time
    assert [*waken(graph)] == []
    graph.invoke(None, at("a"))
    assert due(saver) == time, "it was asked again, and not anew"
    graph.update_state(at("a"), {"items": ["a third"]})
    env.clock += 30
    assert [*waken(graph)] == [("a", False, None)]
    assert graph.get_state(at("a")).values["items"][-1] == came
    assert due(saver) is None


def test_an_answer_to_a_thread_that_was_written_to_counts_in_time_and_is_refused_late(
    env: Any,
) -> None:
    def code(seconds: float) -> str:
        return f"{asks(seconds)}, {interrupt('sure?')}"

    for late in (False, True):
        saver = InMemorySaver()
        graph = waits_for(60, code, saver, inside=False)
        (question,) = graph.invoke({"items": []}, at("a"))["__interrupt__"]
        graph.update_state(at("a"), {"items": ["a note"]})
        env.clock += 61 if late else 59
        if late:
            with pytest.raises(UnknownInterruptError):
                graph.invoke(Command(resume={question.id: "yes"}), at("a"))
            assert [*wake(graph)] == [("a", True, None)]
        else:
            graph.invoke(Command(resume={question.id: "yes"}), at("a"))
        env.clock += 2
        assert due(saver) is None, "it was answered, and waits for a person alone"
        said = graph.invoke(Command(resume="sure"), at("a"))["items"]
        assert said == ["a note", "nobody, sure" if late else "yes, sure"]


@waking
def test_a_run_that_fails_once_it_was_written_to_is_not_tried_again_and_again(
    env: Any, waken: Waken
) -> None:
    saver, ran = InMemorySaver(), list[str]()
    graph = naps(saver, ran)
    graph.invoke({"items": []}, at("a"))
    graph.update_state(at("a"), {"items": ["fail"]})
    env.clock += 5
    (woken,) = waken(graph)
    assert isinstance(woken.error, ValueError)
    assert [*waken(graph)] == []
    assert ran == ["nap"]


@waking
@pytest.mark.parametrize("written_to", [False, True])
def test_nor_is_one_whose_deadline_has_passed(env: Any, waken: Waken, written_to: bool) -> None:
    graph = waits_for(60, sleep, InMemorySaver(), inside=False)
    graph.invoke({"items": []}, at("a"), deadline=30)
    if written_to:
        graph.update_state(at("a"), {"items": ["a note"]})
    env.clock += 60
    (woken,) = waken(graph)
    assert isinstance(woken.error, RunDeadlineError)
    assert [*waken(graph)] == []
    assert graph.invoke(None, at("a"), deadline=30)["items"][-1] == "slept"


def test_of_sends_that_wait_each_keeps_its_time_when_their_thread_is_written_to(env: Any) -> None:
    def nap(seconds: int) -> State:
        sleep(seconds)
        return {"items": [f"{seconds}"]}

    builder: Any = StateGraph(State).add_node(nap)
    sends = [Send("nap", seconds) for seconds in (20, 10)]
    builder.add_conditional_edges(START, lambda state: sends, ["nap"])
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"items": []}, at("a"))
    graph.update_state(at("a"), {"items": ["a note"]}, as_node=START)
    graph.update_state(at("a"), None)
    env.clock += 10
    assert [*wake(graph)] == [("a", True, None)]
    (left,) = graph.get_state(at("a")).interrupts
    assert left.due == env.now() + 10


def test_a_fork_of_an_old_checkpoint_waits_anew(env: Any) -> None:
    saver = InMemorySaver()
    graph = waits_for(60, asks, saver, inside=False)
    graph.invoke({"items": []}, at("a"))
    waiting = graph.get_state(at("a")).config
    env.clock += 60
    assert [*wake(graph)] == [("a", False, None)]
    fork = graph.update_state(waiting, {"items": ["again"]})
    (question,) = graph.invoke(None, fork)["__interrupt__"]
    assert question.due == env.now() + 60
    assert graph.invoke(Command(resume="yes"), at("a"))["items"] == ["again", "yes"]


def test_what_is_waited_for_for_ever_is_in_a_file_that_was_written_to(env: Any) -> None:
    with SqliteSaver.from_conn_string(":memory:") as saver:
        graph = waits_for(inf, sleep, saver, inside=False)
        graph.invoke({"items": []}, at("a"))
        graph.update_state(at("a"), {"items": ["a note"]})
        assert due(saver) == inf
