"""A wide fan-out of quick tasks: what a kill repeats does not grow with it."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from operator import add
from pathlib import Path
from threading import Barrier
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from plait.drivers.ahead import MOST
from plait.graph import START, StateGraph
from plait.types import Send

from .savers import Place

CONFIG: Any = {"configurable": {"thread_id": "1"}}
TASKS = 20 * MOST
THREADS = 64
"""More than such a fan-out has threads: each may be inside a task."""


class State(TypedDict):
    out: Annotated[list[int], add]


def fan_out(work: Callable[[int], None], saver: Any, count: int = TASKS) -> Any:
    """A graph with one super-step of so many tasks."""

    def do(given: Any) -> State:
        work(given["n"])
        return {"out": [given["n"]]}

    builder = StateGraph(State).add_node("do", do)
    builder.add_conditional_edges(
        START, lambda _: [Send("do", {"n": n}) for n in range(count)], ["do"]
    )
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("last", [3 * MOST, TASKS // 2, TASKS - 10])
def test_a_kill_in_a_wide_fan_out_repeats_few_of_its_finished_tasks(
    tmp_path: Path, start: Callable[..., Any], last: int
) -> None:
    place = Place("sqlite", tmp_path / "log.db")
    effects = tmp_path / "effects"

    def run(given: Any, *, killed: bool) -> Any:
        with place.open() as saver, effects.open("ab", buffering=0) as file:

            def work(n: int) -> None:
                file.write(b"%d\n" % n)
                if killed and n == last:
                    os.kill(os.getpid(), signal.SIGKILL)

            return fan_out(work, saver).invoke(given, CONFIG)

    assert start(lambda tell: run({"out": []}, killed=True)).wait() == -signal.SIGKILL
    assert run(None, killed=False) == {"out": [*range(TASKS)]}
    times = Counter(effects.read_bytes().split())
    assert len(times) == TASKS
    repeated = sum(times.values()) - TASKS
    assert repeated <= MOST + THREADS


def test_tasks_that_wait_for_each_other_all_run_at_once(tmp_path: Path) -> None:
    count = MOST + 20
    barrier = Barrier(count)
    with Place("sqlite", tmp_path / "log.db").open() as saver:
        graph = fan_out(lambda _: barrier.wait(60) and None, saver, count)
        assert graph.invoke({"out": []}, CONFIG) == {"out": [*range(count)]}


def test_a_stream_that_nobody_reads_on_keeps_no_thread_from_other_runs(tmp_path: Path) -> None:
    with Place("sqlite", tmp_path / "log.db").open() as saver:
        graph = fan_out(lambda _: None, saver)
        stream = graph.stream({"out": []}, CONFIG, stream_mode="updates")
        begun = [next(stream) for _ in range(MOST // 2)]
        other: Any = {"configurable": {"thread_id": "2"}}
        assert graph.invoke({"out": []}, other) == {"out": [*range(TASKS)]}
        assert len([*begun, *stream]) == TASKS
        assert graph.get_state(CONFIG).values == {"out": [*range(TASKS)]}
