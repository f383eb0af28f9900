"""A wide fan-out of quick tasks: what a kill repeats does not grow with it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from operator import add
from pathlib import Path
from threading import Barrier, Event
from typing import Annotated, Any, TypeAlias

import pytest
from typing_extensions import TypedDict

from plait.checkpoint.log.requests import Transact
from plait.drivers import aio_ahead
from plait.drivers.ahead import MOST
from plait.graph import START, StateGraph
from plait.types import Send

from .savers import OneWay, Place

CONFIG: Any = {"configurable": {"thread_id": "1"}}
TASKS = 20 * MOST
THREADS = 64
"""More than such a fan-out has threads: each may be inside a task."""
GAVE_UP = 60.0
Work: TypeAlias = Callable[[int], None]


class State(TypedDict):
    out: Annotated[list[int], add]


def sync(work: Work) -> Any:
    """A sync node."""

    def do(given: Any) -> State:
        work(given["n"])
        return {"out": [given["n"]]}

    return do


def at_once(work: Work) -> Any:
    """An async node that waits for nothing."""

    async def do(given: Any) -> State:
        work(given["n"])
        return {"out": [given["n"]]}

    return do


def later(work: Work) -> Any:
    """An async node that lets others have a turn."""

    async def do(given: Any) -> State:
        await asyncio.sleep(0)
        work(given["n"])
        return {"out": [given["n"]]}

    return do


def invoke(graph: Any, given: Any) -> Any:
    return graph.invoke(given, CONFIG)


def ainvoke(graph: Any, given: Any) -> Any:
    return asyncio.run(graph.ainvoke(given, CONFIG))


WAYS = {
    "sync": (sync, invoke, MOST + THREADS),
    "sync nodes of an async run": (sync, ainvoke, MOST + THREADS),
    "async at once": (at_once, ainvoke, 2 * MOST),
    "async later": (later, ainvoke, 2 * MOST),
}
"""How nodes are written, how the graph is run, and how many tasks a kill repeats at most: those of
which the results wait, and those that are under way (of async ones, a portion)."""


def fan_out(node: Any, saver: Any, count: int = TASKS, **options: Any) -> Any:
    """A graph with one super-step of so many tasks, of a node with such options."""
    builder = StateGraph(State).add_node("do", node, **options)
    builder.add_conditional_edges(
        START, lambda _: [Send("do", {"n": n}) for n in range(count)], ["do"]
    )
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("last", [3 * MOST, TASKS // 2, TASKS - 10])
def test_a_kill_in_a_wide_fan_out_repeats_few_of_its_finished_tasks(
    tmp_path: Path,
    start: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    last: int,
    way: str,
) -> None:
    monkeypatch.setattr(aio_ahead, "PATIENCE", GAVE_UP)  # this machine may be slow
    place = Place("sqlite", tmp_path / "log.db")
    effects = tmp_path / "effects"
    node, run_as, most = WAYS[way]

    def run(given: Any, *, killed: bool) -> Any:
        with place.open() as saver, effects.open("ab", buffering=0) as file:

            def work(n: int) -> None:
                file.write(b"%d\n" % n)
                if killed and n == last:
                    os.kill(os.getpid(), signal.SIGKILL)

            return run_as(fan_out(node(work), saver), given)

    assert start(lambda tell: run({"out": []}, killed=True)).wait() == -signal.SIGKILL
    assert run(None, killed=False) == {"out": [*range(TASKS)]}
    times = Counter(effects.read_bytes().split())
    assert len(times) == TASKS
    repeated = sum(times.values()) - TASKS
    assert repeated <= most


@pytest.mark.parametrize("run_as", [invoke, ainvoke])
def test_tasks_that_wait_for_each_other_all_run_at_once(tmp_path: Path, run_as: Any) -> None:
    count = MOST + 20
    barrier = Barrier(count)
    with Place("sqlite", tmp_path / "log.db").open() as saver:
        graph = fan_out(sync(lambda _: barrier.wait(GAVE_UP) and None), saver, count)
        assert run_as(graph, {"out": []}) == {"out": [*range(count)]}


def test_async_tasks_that_wait_for_each_other_all_run_at_once(tmp_path: Path) -> None:
    barrier = asyncio.Barrier(TASKS)

    async def do(given: Any) -> State:
        await barrier.wait()
        return {"out": [given["n"]]}

    with Place("sqlite", tmp_path / "log.db").open() as saver:
        graph = fan_out(do, saver)
        waiting = graph.ainvoke({"out": []}, CONFIG)
        assert asyncio.run(asyncio.wait_for(waiting, GAVE_UP)) == {"out": [*range(TASKS)]}


def test_storage_that_waits_for_what_an_async_task_holds_keeps_no_other_from_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aio_ahead, "PATIENCE", 0.01)
    all_begun = Event()

    class Waiting(OneWay):
        """Stores results once the last task has begun, and let go of what it held."""

        def execute(self, request: Any) -> Any:
            if isinstance(request, Transact) and begun:
                assert all_begun.wait(GAVE_UP)
            return super().execute(request)  # pyright: ignore

    begun: list[int] = []

    def work(n: int) -> None:
        begun.append(n)
        if n == TASKS - 1:
            all_begun.set()

    with Place("sqlite", tmp_path / "log.db").open(Waiting) as saver:
        assert ainvoke(fan_out(at_once(work), saver), {"out": []}) == {"out": [*range(TASKS)]}


@pytest.mark.parametrize("node", [sync, at_once, later])
def test_tasks_that_have_not_begun_when_one_fails_never_do(tmp_path: Path, node: Any) -> None:
    begun: list[int] = []

    def work(n: int) -> None:
        begun.append(n)
        if n == 0:
            raise ValueError("the first")

    with Place("sqlite", tmp_path / "log.db").open() as saver:
        graph = fan_out(node(work), saver)
        with pytest.raises(ValueError, match="the first"):
            ainvoke(graph, {"out": []})
        assert len(begun) <= 2 * MOST + THREADS
        mended = fan_out(node(lambda _: None), saver)
        assert ainvoke(mended, None) == {"out": [*range(TASKS)]}


def test_async_tasks_with_limits_of_time_are_no_further_ahead_of_storage(tmp_path: Path) -> None:
    begun: list[int] = []
    begun_before: list[int] = []

    class Counting(OneWay):
        """Counts the tasks that have begun before something is stored."""

        def execute(self, request: Any) -> Any:
            begun_before.append(len(begun))
            return super().execute(request)  # pyright: ignore

    with Place("sqlite", tmp_path / "log.db").open(Counting) as saver:
        ainvoke(fan_out(at_once(begun.append), saver, timeout=GAVE_UP), {"out": []})
    assert begun_before[-1] == TASKS
    assert max(after - before for before, after in pairwise(begun_before)) <= 2 * MOST


def test_while_others_take_their_time_to_stop_no_task_begins(tmp_path: Path) -> None:
    begun: list[int] = []

    async def do(given: Any) -> State:
        begun.append(given["n"])
        if given["n"] == 0:
            raise ValueError("the first")
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(TASKS // MOST * 2):
                await asyncio.sleep(0)
        return {"out": []}

    with Place("sqlite", tmp_path / "log.db").open() as saver:
        with pytest.raises(ValueError, match="the first"):
            ainvoke(fan_out(do, saver), {"out": []})
        assert len(begun) == MOST


def test_a_cancelled_run_begins_no_more_of_its_tasks(tmp_path: Path) -> None:
    begun: list[int] = []

    async def main(graph: Any) -> None:
        run = asyncio.ensure_future(graph.ainvoke({"out": []}, CONFIG))
        stop.append(run.cancel)
        with pytest.raises(asyncio.CancelledError):
            await run

    stop: list[Callable[[], bool]] = []

    def work(n: int) -> None:
        begun.append(n)
        if n == 0:
            stop[0]()

    with Place("sqlite", tmp_path / "log.db").open() as saver:
        asyncio.run(main(fan_out(at_once(work), saver)))
        assert len(begun) == MOST
        mended = fan_out(at_once(lambda _: None), saver)
        assert ainvoke(mended, None) == {"out": [*range(TASKS)]}


def test_a_stream_that_nobody_reads_on_keeps_no_thread_from_other_runs(tmp_path: Path) -> None:
    with Place("sqlite", tmp_path / "log.db").open() as saver:
        graph = fan_out(sync(lambda _: None), saver)
        stream = graph.stream({"out": []}, CONFIG, stream_mode="updates")
        begun = [next(stream) for _ in range(MOST // 2)]
        other: Any = {"configurable": {"thread_id": "2"}}
        assert graph.invoke({"out": []}, other) == {"out": [*range(TASKS)]}
        assert len([*begun, *stream]) == TASKS
        assert graph.get_state(CONFIG).values == {"out": [*range(TASKS)]}
