"""Threads of a node call tasks while the node runs inline: whoever has news drives the loop."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Event

import pytest

from plait.errors import ConfigError, NodeTimeoutError
from plait.func import entrypoint, task
from plait.graph import START, StateGraph

RUNS, THREADS, CALLS = 30, 4, 40


@task
def double(x: int) -> int:
    return 2 * x


@entrypoint()
def spread(xs: list[int]) -> list[int]:
    def call(x: int) -> int:
        return double(x).result()

    with ThreadPoolExecutor(THREADS) as pool:
        asked = [pool.submit(copy_context().run, call, x) for x in xs]
        own = [double(x).result() for x in xs]
        assert [one.result() for one in asked] == own
    return own


def test_no_call_of_many_threads_is_lost_and_none_runs_the_loop_twice() -> None:
    xs = list(range(CALLS))
    for _ in range(RUNS):
        assert spread.invoke(xs) == [2 * x for x in xs]


def test_a_limit_counts_after_an_alarm_that_came_for_nothing() -> None:
    """A worker that comes by for the timer of a call that has ended sets out again for the next."""
    held = Event()

    @task(timeout=0.05)
    def quick() -> None: ...

    @task(timeout=0.2)
    def slow() -> bool:
        return held.wait(30)

    @entrypoint()
    def run(_: str) -> str:
        quick().result()
        try:
            return str(slow().result())
        except NodeTimeoutError:
            return "given up"

    try:
        assert run.invoke("go") == "given up"
    finally:
        held.set()


@pytest.mark.parametrize("in_loop", [False, True], ids=["sync", "async"])
def test_a_call_that_comes_when_its_run_ends_is_done_or_refused(in_loop: bool) -> None:
    began = Event()

    def call_on() -> int:
        done = 0
        while double(done).result(timeout=30) == 2 * done:
            began.set()
            done += 1
        return done

    with ThreadPoolExecutor(1) as pool:
        left: list[Future[int]] = []

        def leave(_: object) -> None:
            left.append(pool.submit(copy_context().run, call_on))

        builder = StateGraph(dict).add_node("leave", leave)
        builder.add_node("wait", lambda _: {"began": began.wait(30)})
        graph = builder.add_edge(START, "leave").add_edge("leave", "wait").compile()
        for _ in range(RUNS):
            began.clear()
            result = asyncio.run(graph.ainvoke({"x": 1})) if in_loop else graph.invoke({"x": 1})
            assert result["began"]
            with pytest.raises(ConfigError, match="'double' was called by code that has outlived"):
                left.pop().result(timeout=60)
