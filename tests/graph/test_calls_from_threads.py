"""Threads of a node call tasks while the node runs inline: whoever has news drives the loop."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

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
