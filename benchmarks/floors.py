"""Owns the physical floors: the same node calls made by the plainest Python that gives the result.

They know nothing of graphs, tasks, recovery or streams. What an engine costs above its floor is
the price of being an engine; nothing can cost less. Each floor has the signature of its program,
without the implementation, and must return the same audited result.
"""

import asyncio
from typing import Any

import ormsgpack

from benchmarks import programs
from benchmarks.measure import Job, run_async


def loop(steps: int, *, run_as_async: bool, **_: Any) -> Job:
    """A ``while`` that calls the node and the path function and merges one dict per step."""
    tick = programs.increment

    def again(state: Any) -> bool:
        return state["n"] < steps

    def run() -> dict[str, int]:
        state = {"n": 0}
        while again(state):
            state = {**state, **tick(state)}
        return state

    tick_async, again_async = map(programs.asynchronous_twin, (tick, again))

    async def run_coroutines() -> dict[str, int]:
        state = {"n": 0}
        while await again_async(state):
            state = {**state, **await tick_async(state)}
        return state

    return Job(lambda: run_async(run_coroutines())) if run_as_async else Job(run)


def wide(steps: int, *, run_as_async: bool, keys: int = 1_000) -> Job:
    """One plain dict, copied once from the input, updated in place."""
    tick = programs.increment_first

    def run() -> dict[str, int]:
        state = programs.wide_input(keys)
        while state["k0"] < steps:
            state.update(tick(state))
        return state

    tick_async = programs.asynchronous_twin(tick)

    async def run_coroutines() -> dict[str, int]:
        state = programs.wide_input(keys)
        while state["k0"] < steps:
            state.update(await tick_async(state))
        return state

    return Job(lambda: run_async(run_coroutines())) if run_as_async else Job(run)


def saved_loop(steps: int, *, run_as_async: bool) -> Job:
    """The loop, with each state encoded by ormsgpack into a dict: input, start, every step."""
    tick = programs.increment
    tick_async = programs.asynchronous_twin(tick)

    def run() -> tuple[dict[str, int], int]:
        state = {"n": 0}
        saved = {-1: ormsgpack.packb(state), 0: ormsgpack.packb(state)}
        while state["n"] < steps:
            state = {**state, **tick(state)}
            saved[state["n"]] = ormsgpack.packb(state)
        return state, len(saved)

    async def run_coroutines() -> tuple[dict[str, int], int]:
        state = {"n": 0}
        saved = {-1: ormsgpack.packb(state), 0: ormsgpack.packb(state)}
        while state["n"] < steps:
            state = {**state, **await tick_async(state)}
            saved[state["n"]] = ormsgpack.packb(state)
        return state, len(saved)

    return Job(lambda: run_async(run_coroutines())) if run_as_async else Job(run)


def sequence(length: int, *, run_as_async: bool) -> Job:
    """A ``for`` over the nodes."""

    def run() -> dict[str, int]:
        state = {"n": 0}
        for node in [programs.increment] * length:
            state = {**state, **node(state)}
        return state

    async def run_coroutines() -> dict[str, int]:
        state = {"n": 0}
        for node in [programs.asynchronous_twin(programs.increment)] * length:
            state = {**state, **await node(state)}
        return state

    return Job(lambda: run_async(run_coroutines())) if run_as_async else Job(run)


def fanout(tasks: int, *, run_as_async: bool) -> Job:
    """A comprehension over the tasks; ``asyncio.gather`` when async."""
    work = programs.work
    work_async = programs.asynchronous_twin(work)

    def reduce(results: list[dict[str, list[int]]]) -> dict[str, Any]:
        out: list[int] = []
        for result in results:
            out.extend(result["out"])
        return {"n": tasks, "out": out}

    def run() -> dict[str, Any]:
        return reduce([work({"i": i}) for i in range(tasks)])

    async def run_coroutines() -> dict[str, Any]:
        return reduce(await asyncio.gather(*[work_async({"i": i}) for i in range(tasks)]))

    return Job(lambda: run_async(run_coroutines())) if run_as_async else Job(run)


def first_event(length: int, *, run_as_async: bool, mode: str = "updates") -> Job:
    """A generator that yields after its first node; ``length`` nodes stand ready behind it."""
    nodes = {f"n{i}": programs.increment for i in range(length)}
    twins = {name: programs.asynchronous_twin(node) for name, node in nodes.items()}

    def stream(given: Any, *, stream_mode: str) -> Any:
        state = given
        if stream_mode == "values":
            yield state
        for name, node in nodes.items():
            update = node(state)
            state = {**state, **update}
            yield {name: update}

    async def astream(given: Any, *, stream_mode: str) -> Any:
        state = given
        if stream_mode == "values":
            yield state
        for name, node in twins.items():
            update = await node(state)
            state = {**state, **update}
            yield {name: update}

    return programs.first_events_of(
        astream if run_as_async else stream, mode, run_as_async=run_as_async
    )
