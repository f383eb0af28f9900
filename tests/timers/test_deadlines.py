"""Deadlines of runs: kept with the thread, so that whoever continues it is bound by them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.drivers.sim import simulate
from plait.errors import ConfigError, RunDeadlineError, UnknownInterruptError
from plait.graph import START, StateGraph
from plait.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}


def steps(saver: Any, *codes: Any) -> Any:
    builder = StateGraph(dict)
    last = START
    for code in codes:
        builder.add_node(code)
        builder.add_edge(last, code.__name__)
        last = code.__name__
    return builder.compile(checkpointer=saver)


def test_no_step_starts_after_the_deadline_and_the_steps_before_are_kept(env: Any) -> None:
    def slow(state: Any) -> Any:
        env.clock += 100
        return {"slow": True}

    def last(state: Any) -> Any:
        return {**state, "last": True}

    graph = steps(InMemorySaver(), slow, last)
    with pytest.raises(RunDeadlineError, match="left: last"):
        graph.invoke({}, CONFIG, deadline=60)
    assert graph.get_state(CONFIG).values == {"slow": True}
    with pytest.raises(RunDeadlineError):
        graph.invoke(None, CONFIG)
    end = graph.invoke(None, CONFIG, deadline=timedelta(seconds=1))
    assert end == {"slow": True, "last": True}


def test_a_run_continued_by_another_process_is_bound_by_it(env: Any, tmp_path: Path) -> None:
    def asks(state: Any) -> Any:
        return {"said": interrupt("ok?")}

    deadline = datetime.fromtimestamp(env.now() + 60, UTC)
    with SqliteSaver(tmp_path / "log.db") as saver:
        steps(saver, asks).invoke({}, CONFIG, deadline=deadline)
    env.clock += 61
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = steps(saver, asks)
        with pytest.raises(RunDeadlineError, match="thread '1'"):
            graph.invoke(Command(resume="yes"), CONFIG)
        assert "__interrupt__" in graph.invoke({}, CONFIG), "a new input is a new run"
        assert graph.invoke(Command(resume="yes"), CONFIG) == {"said": "yes"}


def test_an_answer_after_the_deadline_counts_once_there_is_more_time(env: Any) -> None:
    def asks(state: Any) -> Any:
        return {"said": interrupt("ok?")}

    graph = steps(InMemorySaver(), asks)
    graph.invoke({}, CONFIG, deadline=60)
    env.clock += 61
    with pytest.raises(RunDeadlineError, match="left: asks"):
        graph.invoke(Command(resume="yes"), CONFIG)
    with pytest.raises(UnknownInterruptError, match="answered before"):
        graph.invoke(Command(resume="no"), CONFIG, deadline=60)
    assert graph.invoke(None, CONFIG, deadline=60) == {"said": "yes"}


async def test_what_runs_at_the_deadline_is_given_up() -> None:
    began: list[str] = []
    stopped: list[str] = []

    async def hangs(state: Any) -> Any:
        began.append("hangs")
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("hangs")

    graph = steps(InMemorySaver(), hangs)
    with pytest.raises(RunDeadlineError):
        await graph.ainvoke({}, CONFIG, deadline=0.3)
    assert stopped == began


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_in_any_order_a_run_ends_in_time_or_with_its_error(flavor: Any) -> None:
    async def afirst(state: Any) -> Any:
        return {"first": True}

    def first(state: Any) -> Any:
        return {"first": True}

    ends: set[str] = set()
    for seed in range(60):
        graph = steps(InMemorySaver(), afirst if flavor == "async" else first)
        try:
            life = simulate(graph, {}, CONFIG, seed=seed, flavor=flavor, deadline=5)
        except RunDeadlineError:
            ends.add("late")
        else:
            ends.add("done")
            assert life.states[-1] == {"first": True}
    assert ends == {"late", "done"}


def test_what_is_no_deadline_is_refused(env: Any) -> None:
    def node(state: Any) -> Any:
        return state

    for given in (0, -1, "soon", datetime(2026, 1, 1)):
        with pytest.raises(ConfigError):
            steps(None, node).invoke({}, deadline=given)
