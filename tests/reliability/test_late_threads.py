"""Sync code that took too long: its caller hears on time, and nothing that it still does counts."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.config import emit_token, get_stream_writer
from plait.errors import NodeCancelledError, NodeTimeoutError
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.types import RetryPolicy, Send, interrupt

SOON = 0.05
CONFIG: Any = {"configurable": {"thread_id": "1"}}
AGAIN = RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=2)


class State(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]


class Late:
    """A node whose first attempt waits for `release`, then does `afterwards` and returns."""

    def __init__(self, afterwards: Callable[[], Any] = lambda: None) -> None:
        self.release = threading.Event()
        self.ended = threading.Event()
        self.attempts = 0
        self.error: BaseException | None = None
        self.afterwards = afterwards

    def __call__(self, state: Any) -> Any:
        self.attempts += 1
        if self.attempts > 1:
            return {"items": ["second attempt"]}
        assert self.release.wait(30)
        try:
            self.afterwards()
        except BaseException as error:
            self.error = error
        finally:
            self.ended.set()
        return {"items": ["first attempt"]}

    def let_it_end(self, state: Any = None) -> None:
        """Wait until the late attempt is over. A node, too."""
        self.release.set()
        assert self.ended.wait(30)


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Runs a graph in one of the two ways."""

    def invoke(graph: Any, *args: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            return graph.invoke(*args, **kwargs)
        return asyncio.run(graph.ainvoke(*args, **kwargs))

    return invoke


def chain(first: Any, *others: Any, saver: Any = None, **options: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("first", first, **options)
    builder.add_edge(START, "first")
    previous = "first"
    for number, node in enumerate(others):
        builder.add_node(f"n{number}", node)
        builder.add_edge(previous, f"n{number}")
        previous = f"n{number}"
    return builder.compile(checkpointer=saver)


def test_the_caller_hears_while_the_thread_still_runs(run: Callable[..., Any]) -> None:
    late = Late()
    with pytest.raises(NodeTimeoutError) as caught:
        run(chain(late, timeout=SOON), {"items": []})
    assert not late.ended.is_set()
    assert (caught.value.node, caught.value.kind, caught.value.timeout) == ("first", "run", SOON)
    late.let_it_end()


def test_a_late_result_never_becomes_state(run: Callable[..., Any]) -> None:
    late, saver = Late(), InMemorySaver()
    graph = chain(late, late.let_it_end, saver=saver, timeout=SOON, retry_policy=AGAIN)
    assert run(graph, {"items": []}, CONFIG) == {"items": ["second attempt"]}
    assert graph.get_state(CONFIG).values == {"items": ["second attempt"]}
    assert late.attempts == 2


def test_a_late_result_is_not_taken_for_that_of_a_later_step(run: Callable[..., Any]) -> None:
    late = Late()

    def third(state: Any) -> Any:  # alone in its step: it runs inline
        return {"items": ["third"]}

    graph = chain(late, late.let_it_end, third, timeout=SOON, retry_policy=AGAIN)
    assert run(graph, {"items": []}) == {"items": ["second attempt", "third"]}


@task
def small() -> str:
    return "small"


def ask() -> Any:
    return interrupt("too late?")


def write() -> None:
    get_stream_writer()("late chunk")


def say() -> None:
    emit_token("late token")


def call_a_task() -> Any:
    return small().result()


@pytest.mark.parametrize("what", [ask, call_a_task, write, say], ids=lambda what: what.__name__)
def test_what_a_late_attempt_asks_calls_or_writes_is_refused_whoever_listens(
    run: Callable[..., Any], what: Callable[[], Any]
) -> None:
    late = Late(what)
    graph = chain(late, late.let_it_end, saver=InMemorySaver(), timeout=SOON, retry_policy=AGAIN)
    assert run(graph, {"items": []}, CONFIG) == {"items": ["second attempt"]}
    assert isinstance(late.error, NodeCancelledError)
    assert graph.get_state(CONFIG).interrupts == ()


def test_what_a_late_attempt_streams_is_refused() -> None:
    late = Late(write)
    graph = chain(late, late.let_it_end, timeout=SOON, retry_policy=AGAIN)
    parts = list(graph.stream({"items": []}, stream_mode=["custom", "updates"]))
    assert [payload for mode, payload in parts if mode == "custom"] == []
    assert isinstance(late.error, NodeCancelledError)


def test_a_late_graph_inside_a_node_stores_nothing(run: Callable[..., Any]) -> None:
    inner_ran: list[str] = []

    def inner_node(state: Any) -> Any:
        inner_ran.append("ran")
        return {"items": ["inner"]}

    inner = chain(inner_node)
    late, saver = Late(lambda: inner.invoke({"items": []})), InMemorySaver()
    graph = chain(late, late.let_it_end, saver=saver, timeout=SOON, retry_policy=AGAIN)
    assert run(graph, {"items": []}, CONFIG) == {"items": ["second attempt"]}
    assert inner_ran == []
    assert isinstance(late.error, NodeCancelledError)


def test_a_graph_that_is_under_way_inside_a_late_node_goes_no_further(
    run: Callable[..., Any],
) -> None:
    release, ended, ran = threading.Event(), threading.Event(), list[str]()

    def waits(state: Any) -> Any:
        assert release.wait(30)
        return {"items": ["inner"]}

    def follows(state: Any) -> Any:
        ran.append("follows")

    inner, saver = chain(waits, follows), InMemorySaver()

    def outer(state: Any) -> Any:
        try:
            return inner.invoke({"items": []})
        finally:
            ended.set()

    def let_it_end(state: Any) -> None:
        assert ended.wait(30)

    builder = StateGraph(State)
    builder.add_node("first", outer, timeout=SOON, error_handler=lambda state: release.set())
    builder.add_node("end", let_it_end)
    builder.add_node("quick", lambda state: None)
    builder.add_edge(START, "first")
    builder.add_edge(START, "quick")
    builder.add_edge("quick", "end")
    graph = builder.compile(checkpointer=saver)
    assert run(graph, {"items": ["in"]}, CONFIG) == {"items": ["in"]}
    assert ran == []
    assert graph.get_state(CONFIG).values == {"items": ["in"]}


def test_a_workflow_that_took_too_long_does_not_wait_for_what_it_called(
    run: Callable[..., Any],
) -> None:
    late = Late()
    seen: list[BaseException] = []
    told = threading.Event()

    @task
    def slow() -> Any:
        return late(None)

    @entrypoint(timeout=SOON)
    def workflow(given: int) -> Any:
        try:
            return slow().result()
        except BaseException as error:
            seen.append(error)
            raise
        finally:
            told.set()

    with pytest.raises(NodeTimeoutError):
        run(workflow, 1)
    assert not late.ended.is_set()
    late.let_it_end()
    assert told.wait(30), "the thread of the workflow waits for ever"
    assert isinstance(seen[0], NodeCancelledError)


def test_a_retried_workflow_takes_over_the_task_that_still_runs(run: Callable[..., Any]) -> None:
    release, attempts, ran = threading.Event(), list[int](), list[int]()

    @task
    def slow() -> str:
        ran.append(1)
        assert release.wait(30)
        return "done"

    @entrypoint(checkpointer=InMemorySaver(), timeout=SOON, retry_policy=AGAIN)
    def workflow(given: int) -> Any:
        attempts.append(1)
        call = slow()
        if len(attempts) == 2:
            release.set()
        return call.result()

    assert run(workflow, 1, CONFIG) == "done"
    assert (len(attempts), len(ran)) == (2, 1)


def test_each_send_has_its_own_limit(run: Callable[..., Any]) -> None:
    late = Late()

    def node(state: Any) -> Any:
        return late(state) if state["slow"] else {"items": ["quick"]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    fan = [Send("node", {"slow": False}), Send("node", {"slow": True}, timeout=SOON)]
    builder.add_conditional_edges(START, lambda state: fan, ["node"])
    with pytest.raises(NodeTimeoutError):
        run(builder.compile(), {"items": []})
    late.let_it_end()


def test_step_timeout_does_not_wait_for_threads(run: Callable[..., Any]) -> None:
    late, saver = Late(), InMemorySaver()
    graph = chain(late, saver=saver)
    graph.step_timeout = SOON
    with pytest.raises(TimeoutError, match="'first' had not finished"):
        run(graph, {"items": []}, CONFIG)
    late.let_it_end()
    assert graph.get_state(CONFIG).next == ("first",)
    assert run(graph, None, CONFIG) == {"items": ["second attempt"]}


def limited(late: Late, follows: Callable[[Any], Any], shape: str, saver: Any) -> Any:
    """A thread of a graph inside another takes too long, by a limit of the outer one."""
    inner = chain(late, follows)
    if shape == "two levels":
        return chain(chain(inner), saver=saver, timeout=SOON)
    if shape == "a step":
        graph = chain(inner, saver=saver)
        graph.step_timeout = SOON
        return graph
    if shape == "a call":

        async def calls(state: Any) -> Any:
            return await inner.ainvoke({"items": []})

        return chain(calls, saver=saver, timeout=SOON)
    return chain(inner, saver=saver, timeout=SOON)


@pytest.mark.parametrize("shape", ["a node", "two levels", "a call", "a step"])
def test_a_limit_around_a_graph_does_not_wait_for_its_threads(shape: str) -> None:
    ran, saver = list[str](), InMemorySaver()

    def follows(state: Any) -> None:
        ran.append("follows")

    late = Late()
    graph = limited(late, follows, shape, saver)
    with pytest.raises((NodeTimeoutError, TimeoutError)):
        asyncio.run(graph.ainvoke({"items": []}, CONFIG))
    assert not late.ended.is_set()
    late.let_it_end()
    assert (graph.get_state(CONFIG).next, ran) == (("first",), [])
    assert asyncio.run(graph.ainvoke(None, CONFIG)) == {"items": ["second attempt"]}
    assert (late.attempts, ran) == (2, ["follows"])


def test_threads_that_end_after_their_event_loop_end_quietly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loud: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", loud.append)
    late = Late()
    with pytest.raises(NodeTimeoutError):
        asyncio.run(chain(late, timeout=SOON).ainvoke({"items": []}))
    late.let_it_end()
    again = Late()
    again.release.set()
    assert asyncio.run(chain(again, timeout=30).ainvoke({"items": []})) == {
        "items": ["first attempt"]
    }
    assert loud == []


def test_calls_that_hang_are_given_up_however_many_threads_hang_already() -> None:
    release = threading.Event()
    ended: list[int] = []

    @task(timeout=SOON)
    def hang(n: int) -> None:
        release.wait(30)
        ended.append(n)

    def node(state: State) -> Any:
        with pytest.raises(NodeTimeoutError):
            hang(len(ended)).result()
        return {"items": [len(ended)]}

    graph = chain(node)
    try:
        for _ in range(6):  # the calls of each turn leave a thread behind
            assert graph.invoke({})["items"] == [0]
    finally:
        release.set()
