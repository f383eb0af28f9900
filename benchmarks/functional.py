"""Owns the workloads of the functional API: an entrypoint that calls a thousand tasks."""

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.implementations import Implementation
from benchmarks.measure import Job, run_async


def _double(x: int) -> int:
    return x * 2


async def _adouble(x: int) -> int:
    return x * 2


def entrypoint(
    impl: Implementation,
    tasks: int,
    *,
    run_as_async: bool,
    saved: bool = False,
    in_turn: bool = False,
) -> Job:
    """An entrypoint that calls ``tasks`` trivial tasks and adds up their results.

    Args:
        impl: whose functional API.
        tasks: how many calls.
        run_as_async: async tasks of an async entrypoint.
        saved: with InMemorySaver; every round is a new thread, which the audit deletes.
        in_turn: wait for each call before the next one, instead of starting all at once.
    """
    double = impl.task(_adouble if run_as_async else _double)

    def flow(count: int) -> int:
        if in_turn:
            return sum(double(x).result() for x in range(count))
        return sum(call.result() for call in [double(x) for x in range(count)])

    async def aflow(count: int) -> int:
        if in_turn:
            return sum([await double(x) for x in range(count)])
        return sum(await asyncio.gather(*[double(x) for x in range(count)]))

    saver: Any = impl.InMemorySaver() if saved else None
    graph = impl.entrypoint(checkpointer=saver)(aflow if run_as_async else flow)
    threads = itertools.count()

    def run() -> tuple[str, Any]:
        thread = f"t{next(threads)}"
        config = {"configurable": {"thread_id": thread}}
        options = {"config": config, "durability": "sync"} if saved else {}
        if run_as_async:
            return thread, run_async(graph.ainvoke(tasks, **options))
        return thread, graph.invoke(tasks, **options)

    def audit(result: tuple[str, Any]) -> Any:
        thread, total = result
        if saver is not None:
            saver.delete_thread(thread)
        return total

    return Job(run, audit)


def entrypoint_floor(tasks: int, *, run_as_async: bool, in_turn: bool = False) -> Job:
    """The same work with asyncio's tasks, or with the standard library's thread pool."""
    pool = ThreadPoolExecutor(2)

    def run() -> int:
        if in_turn:
            return sum(pool.submit(_double, x).result() for x in range(tasks))
        return sum(call.result() for call in [pool.submit(_double, x) for x in range(tasks)])

    async def arun() -> int:
        create = asyncio.get_running_loop().create_task
        if in_turn:
            return sum([await create(_adouble(x)) for x in range(tasks)])
        return sum(await asyncio.gather(*[create(_adouble(x)) for x in range(tasks)]))

    return Job(lambda: run_async(arun())) if run_as_async else Job(run)
