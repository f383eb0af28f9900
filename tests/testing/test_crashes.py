"""The public crash-point enumerator, simulations and FaultySaver, tested by what they must find."""

from __future__ import annotations

import asyncio
import operator
import os
import warnings
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.errors import ConfigError
from plait.graph import START, StateGraph
from plait.testing import (
    Effects,
    FaultySaver,
    InjectedFailure,
    auntil_done,
    every_crash_point,
    explore,
    until_done,
)
from plait.testing.processes import fork
from plait.types import interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class Order(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def build(saver: Any, effects: Effects | None = None) -> Any:
    """Charge and pack beside each other, ask, ship."""

    def step(name: str) -> Any:
        def node(state: Order) -> dict[str, Any]:
            if effects is not None:
                effects.note(name)
            return {"log": [name]}

        return node

    builder: Any = StateGraph(Order)
    for name in ("charge", "pack", "ship"):
        builder.add_node(name, step(name))
    builder.add_node("ask", lambda state: {"log": [interrupt("ship it?")]})
    builder.add_edge(START, "charge").add_edge(START, "pack")
    builder.add_edge(["charge", "pack"], "ask").add_edge("ask", "ship")
    return builder.compile(checkpointer=saver)


def workflow(saver: Any, effects: Effects) -> Any:
    return until_done(build(saver, effects), {"log": []}, CONFIG, answer="yes")


def aworkflow(saver: Any, effects: Effects) -> Any:
    return asyncio.run(auntil_done(build(saver, effects), {"log": []}, CONFIG, answer="yes"))


@pytest.mark.parametrize("kill", [True, False])
@pytest.mark.parametrize("flow", [workflow, aworkflow])
def test_each_point_dies_resumes_and_counts(tmp_path: Path, kill: bool, flow: Any) -> None:
    report = every_crash_point(flow, tmp_path, kill=kill, stride=4 if kill else 1)
    assert report.deaths == len(report.points) > 8
    assert report.counts("ship") <= {1, 2}
    assert 1 in report.counts("charge")


def test_a_workflow_that_ends_differently_after_a_crash_is_found(tmp_path: Path) -> None:
    def counting(saver: Any, effects: Effects) -> Any:
        effects.note("life")
        return effects.counts()["life"], workflow(saver, effects)

    with pytest.raises(AssertionError, match='replay: PLAIT_CRASH="1 before"'):
        every_crash_point(counting, tmp_path, kill=False)


def test_an_acknowledged_task_that_runs_again_is_found(tmp_path: Path) -> None:
    def careless(saver: Any, effects: Effects) -> Any:
        if effects.lines():  # starts over instead of resuming
            saver = InMemorySaver()
        for what, task, words in effects.lines():
            if what == "did":
                with effects.path.open("a") as file:
                    file.write(f"did\t{task}\t{words}\n")
        return until_done(build(saver, effects), {"log": []}, CONFIG, answer="yes")

    with pytest.raises(AssertionError, match="ran again"):
        every_crash_point(careless, tmp_path, kill=False)


def test_the_environment_plays_one_point(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PLAIT_CRASH", "3 after")
    report = every_crash_point(workflow, tmp_path)
    assert [(point.request, point.when, point.died) for point in report.points] == [
        (3, "after", True)
    ]


def test_a_graph_is_explored_in_many_orders_with_crashes() -> None:
    played = explore(build, {"log": []}, seeds=range(200), crashes=3, answer="yes")
    assert sum(each.deaths for each in played) > 200
    assert len({tuple(each.begun) for each in played}) > 5


def test_an_order_that_changes_the_result_is_found_and_named() -> None:
    def racy(saver: Any) -> Any:
        seen: list[str] = []

        def node(name: str) -> Any:
            def run(state: Order) -> dict[str, Any]:
                seen.append(name)
                return {"log": [f"{name} was number {len(seen)}"]}

            return run

        builder: Any = StateGraph(Order)
        for name in "abc":
            builder.add_node(name, node(name)).add_edge(START, name)
        return builder.compile(checkpointer=saver)

    with pytest.raises(AssertionError, match=r"replay: explore\(..., seeds=\[\d+\]"):
        explore(racy, {"log": []}, seeds=range(50), crashes=0)


@pytest.mark.parametrize("fault", ["raise", "commit then raise"])
def test_a_fault_comes_once_and_the_graph_goes_on(fault: Any) -> None:
    for request in range(1, 100):
        saver = FaultySaver(InMemorySaver(), at=request, fault=fault)
        graph = build(saver)
        if not _fails(graph):
            assert not saver.failed
            return
        assert saver.failed
        assert until_done(graph, {}, CONFIG, answer="yes")["log"][2:] == ["yes", "ship"]


def _fails(graph: Any) -> bool:
    try:
        until_done(graph, {"log": []}, CONFIG, answer="yes")
    except InjectedFailure:
        return True
    return False


def test_a_request_that_hangs_waits_until_it_is_let_go() -> None:
    saver = FaultySaver(InMemorySaver(), at=4, fault="hang")
    failed: list[bool] = []
    run = Thread(target=lambda: failed.append(_fails(build(saver))))
    run.start()
    assert saver.hanging.wait(30)
    assert run.is_alive()
    saver.release()
    run.join(30)
    assert failed == [True]


async def test_an_async_request_that_hangs_leaves_the_loop_alone() -> None:
    saver = FaultySaver(InMemorySaver(), at=4, fault="hang")
    run = asyncio.create_task(build(saver).ainvoke({"log": []}, CONFIG))
    while not saver.hanging.is_set():
        await asyncio.sleep(0)
    saver.release()
    with pytest.raises(InjectedFailure):
        await run
    assert (await auntil_done(build(saver), {}, CONFIG, answer="yes"))["log"][-1] == "ship"


def test_only_savers_that_take_requests_can_be_faulty() -> None:
    with pytest.raises(ConfigError, match="object"):
        FaultySaver(object())
    with pytest.raises(ConfigError, match="commit then raise"):
        FaultySaver(InMemorySaver(), fault="commit than raise")  # type: ignore[arg-type]


def test_a_program_with_threads_is_forked_where_python_warns_of_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = os.fork

    def forks_as_python_3_12_does() -> int:
        pid = real()
        if pid:
            warnings.warn("use of fork() may lead to deadlocks", DeprecationWarning, stacklevel=2)
        return pid

    monkeypatch.setattr(os, "fork", forks_as_python_3_12_does)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        child = fork(lambda tell: tell("here"))
    assert child.hear() == "here"
    assert child.wait() == 0
