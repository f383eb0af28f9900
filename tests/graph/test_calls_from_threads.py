"""Threads of a node call tasks while the node runs inline: whoever has news drives the loop."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Event

from plait.errors import NodeTimeoutError
from plait.func import entrypoint, task

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
