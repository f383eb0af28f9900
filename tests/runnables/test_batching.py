"""Batches: how many at once, in which context, what becomes of errors, whose threads."""

import asyncio
import os
import threading
from contextvars import ContextVar

import pytest

from plait.runnables import ContextThreadPoolExecutor, RunnableLambda, RunnableParallel
from plait.runnables.config import ensure_config

colour = ContextVar("colour", default="none")


class Crowd:
    """Counts how many calls are inside at once."""

    def __init__(self, wait_for):
        self.inside = self.most = 0
        self.lock = threading.Lock()
        self.meet = threading.Barrier(wait_for, timeout=20)

    def __call__(self, x):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.meet.wait()
        with self.lock:
            self.inside -= 1
        return x


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_as_many_calls_run_at_once_as_the_config_allows_and_no_more(limit):
    crowd = Crowd(wait_for=limit)
    assert RunnableLambda(crowd).batch(list(range(6)), {"max_concurrency": limit}) == list(range(6))
    assert crowd.most == limit


def test_steps_of_a_parallel_keep_to_the_limit():
    crowd = Crowd(wait_for=2)
    RunnableParallel({str(n): crowd for n in range(6)}).invoke(1, {"max_concurrency": 2})
    assert crowd.most == 2


def test_batches_inside_batches_inside_batches_end():
    def deeper(depth):
        return sum(RunnableLambda(deeper).batch([depth - 1] * 5)) if depth else 1

    assert RunnableLambda(deeper).batch([4] * 5) == [625] * 5


def test_each_call_has_a_context_of_its_own():
    def paint(x):
        before = colour.get()
        colour.set(str(x))
        return before

    colour.set("outer")
    assert RunnableLambda(paint).batch(list(range(50))) == ["outer"] * 50
    assert colour.get() == "outer"


def test_children_on_threads_inherit_the_config():
    def inner(_):
        return ensure_config()["configurable"]["who"]

    def outer(x):
        with ContextThreadPoolExecutor() as pool:
            mapped = list(pool.map(inner, [1, 2]))
            return [*mapped, pool.submit(inner, 1).result(), *RunnableLambda(inner).batch([1, 2])]

    assert RunnableLambda(outer).invoke(1, {"configurable": {"who": "ann"}}) == ["ann"] * 5


def test_after_a_failure_no_further_call_begins():
    begun = []

    def fail(x):
        begun.append(x)
        raise ValueError(x)

    with pytest.raises(ValueError, match="0"):
        RunnableLambda(fail).batch(list(range(100)), {"max_concurrency": 1})
    assert begun == [0]


def test_the_error_of_the_earliest_input_is_raised():
    second_failed = threading.Event()

    def fail(x):
        if x == 0:
            assert second_failed.wait(20)
        else:
            second_failed.set()
        raise ValueError(x)

    with pytest.raises(ValueError, match="0"):
        RunnableLambda(fail).batch([0, 1])


def test_results_come_as_they_are_completed():
    first_may_end = threading.Event()

    def wait(x):
        if x == 0:
            assert first_may_end.wait(20)
        return x

    done = RunnableLambda(wait).batch_as_completed([0, 1])
    assert next(done) == (1, 1)
    first_may_end.set()
    assert list(done) == [(0, 0)]


async def test_leaving_an_async_batch_cancels_the_rest():
    cancelled = []

    async def wait(x):
        if x == 0:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(x)
                raise
        return x

    done = RunnableLambda(wait).abatch_as_completed([0, 1])
    assert await anext(done) == (1, 1)
    await done.aclose()
    assert cancelled == [0]


def test_a_forked_child_batches_with_threads_of_its_own():
    crowd = Crowd(wait_for=3)
    RunnableLambda(crowd).batch([1, 2, 3])  # the parent has idle threads now
    child = os.fork()
    if child == 0:
        result = RunnableLambda(Crowd(wait_for=3)).batch([1, 2, 3])
        os._exit(0 if result == [1, 2, 3] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_an_interrupted_batch_passes_the_interrupt_on():
    def stop(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RunnableLambda(stop).batch([1, 2, 3], return_exceptions=True)


def test_where_all_fallbacks_fail_a_batch_gives_the_first_error_as_invoke_raises_it():
    def first(x):
        raise KeyError("first")

    def last(x):
        raise ValueError("last")

    runnable = RunnableLambda(first).with_fallbacks([RunnableLambda(last)])
    (error,) = runnable.batch([1], return_exceptions=True)
    assert isinstance(error, KeyError)
    with pytest.raises(KeyError):
        runnable.invoke(1)
