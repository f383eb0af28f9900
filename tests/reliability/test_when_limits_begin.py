"""A limit of time counts from when the code of an attempt begins: neither earlier nor later."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from math import inf, nan
from typing import Annotated, Any, TypedDict

import pytest

from plait.drivers import pool
from plait.drivers.pool import WorkerPool
from plait.errors import ConfigError
from plait.graph import START, StateGraph
from plait.types import Command, TimeoutPolicy

SOON = 0.05
LONG = 30.0


class State(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Runs a graph in one of the two ways."""
    if request.param == "sync":
        return lambda graph, *args: graph.invoke(*args)
    return lambda graph, *args: asyncio.run(graph.ainvoke(*args))


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> WorkerPool:
    """A pool of the test's own, with room for two threads."""
    workers = WorkerPool()
    monkeypatch.setattr(pool, "MAX_THREADS", 2)
    monkeypatch.setattr(pool, "_pool", workers)
    return workers


def test_waiting_for_a_thread_takes_no_time(
    run: Callable[..., Any], two_threads: WorkerPool
) -> None:
    free = threading.Event()

    def holds_a_thread(state: Any) -> Any:
        assert free.wait(LONG)
        return {"items": ["held"]}

    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, holds_a_thread)
        builder.add_edge(START, name)
    builder.add_node("c", lambda state: {"items": ["quick"]}, timeout=SOON)
    builder.add_edge(START, "c")
    threading.Timer(5 * SOON, free.set).start()
    assert run(builder.compile(), {"items": []}) == {"items": ["held", "held", "quick"]}


def test_an_async_attempt_has_its_whole_time_too() -> None:
    async def node(state: Any) -> Any:
        began = time.monotonic()
        try:
            await asyncio.sleep(LONG)
        finally:
            taken.append(time.monotonic() - began)

    async def handler(state: Any) -> Any:
        return {"items": ["late"]}

    taken: list[float] = []
    builder = StateGraph(State)
    names = [f"n{number}" for number in range(600)]
    for name in names:
        builder.add_node(name, node, timeout=SOON, error_handler=handler)
        builder.add_edge(START, name)
    out = asyncio.run(builder.compile().ainvoke({"items": []}))
    assert out == {"items": ["late"] * len(names)}
    assert min(taken) > 0.9 * SOON


def test_threads_in_code_that_was_given_up_have_their_places_taken(
    run: Callable[..., Any], two_threads: WorkerPool
) -> None:
    release, together = threading.Event(), threading.Barrier(2)
    ended = [threading.Event(), threading.Event()]
    hanging = iter(ended)

    def hangs(state: Any) -> Any:
        mine = next(hanging)
        release.wait(LONG)
        mine.set()

    def goes_on(state: Any) -> Any:
        return Command(goto=["c", "d"], update={"items": ["late"]})

    def meets_the_other(state: Any) -> Any:
        together.wait(LONG)
        return {"items": ["met"]}

    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, hangs, timeout=SOON, error_handler=goes_on)
        builder.add_edge(START, name)
    for name in "cd":
        builder.add_node(name, meets_the_other)
    out = run(builder.compile(), {"items": []})
    assert out == {"items": ["late", "late", "met", "met"]}
    assert not any(each.is_set() for each in ended), "they met once a thread had come back"
    release.set()
    assert all(each.wait(LONG) for each in ended)


ENDLESS = [inf, 1e12, timedelta.max]


@pytest.mark.parametrize("limit", ENDLESS, ids=["inf", "1e12", "calendar"])
def test_a_limit_beyond_what_any_platform_waits_is_no_limit(
    run: Callable[..., Any], limit: Any
) -> None:
    def work(state: State) -> State:
        time.sleep(SOON)
        return {"items": ["done"]}

    for policy in (limit, TimeoutPolicy(idle_timeout=limit)):
        builder = StateGraph(State).add_node("work", work, timeout=policy)
        graph: Any = builder.add_edge(START, "work").compile()
        assert run(graph, {"items": []}) == {"items": ["done"]}
    graph.step_timeout = limit
    assert run(graph, {"items": []}) == {"items": ["done"]}
    assert graph.invoke({"items": []}, deadline=limit) == {"items": ["done"]}


def test_a_job_for_the_end_of_the_calendar_does_not_stop_those_before_it() -> None:
    workers, done = WorkerPool(), threading.Event()
    workers.call_at(inf, (done.clear, ()))
    time.sleep(SOON)  # the watch looks at the first job
    workers.call_at(time.monotonic(), (done.set, ()))
    assert done.wait(LONG)


@pytest.mark.parametrize("limit", [-1, nan, "5", True])
def test_a_step_timeout_that_is_no_length_of_time_is_named(
    run: Callable[..., Any], limit: Any
) -> None:
    builder = StateGraph(State).add_node("work", lambda state: {"items": ["done"]})
    graph: Any = builder.add_edge(START, "work").compile(name="job")
    graph.step_timeout = limit
    with pytest.raises(ConfigError, match="step_timeout of graph 'job'"):
        run(graph, {"items": []})
    graph.step_timeout = timedelta(seconds=LONG)
    assert run(graph, {"items": []}) == {"items": ["done"]}
