"""The public crash-point enumerator, simulations and FaultySaver, tested by what they must find."""

from __future__ import annotations

import asyncio
import math
import operator
import os
import subprocess
import sys
import warnings
from collections import Counter
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, TypedDict

import pytest

import plait
from plait.checkpoint.base import BaseCheckpointSaver
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError
from plait.graph import START, StateGraph
from plait.runtime import get_runtime
from plait.testing import (
    CrashPoint,
    CrashReport,
    Effects,
    FaultySaver,
    InjectedFailure,
    auntil_done,
    every_crash_point,
    explore,
    until_done,
)
from plait.testing.processes import fork
from plait.timers import sleep
from plait.types import RetryPolicy, interrupt
from plait.typing import MISSING

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


@pytest.mark.parametrize("kill", [True, False])
def test_a_workflow_that_fails_after_a_crash_says_at_which_point(
    tmp_path: Path, kill: bool
) -> None:
    def fragile(saver: Any, effects: Effects) -> Any:
        effects.note("life")
        if effects.counts()["life"] > 1:
            raise ValueError("the second life is none")
        return workflow(saver, effects)

    with pytest.raises((AssertionError, ValueError), match="the second life is none") as failed:
        every_crash_point(fragile, tmp_path, kill=kill)
    (note,) = failed.value.__notes__
    assert 'Killed before storage request 1, the workflow failed.\nreplay: PLAIT_CRASH="1 b' in note


class Foreign(BaseCheckpointSaver[str]):
    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    ("opened", "told"),
    [
        (lambda _: Foreign(), "Foreign has only LangGraph's port"),
        (lambda _: InMemorySaver(), "InMemorySaver, whose threads end with their process"),
        (lambda _: SqliteSaver(":memory:"), "SqliteSaver, whose threads end with their process"),
        (lambda _: object(), "object, which `with` cannot open"),
    ],
    ids=["foreign", "in memory", "SQLite in memory", "no saver"],
)
def test_a_saver_that_nobody_can_go_on_with_is_refused(
    tmp_path: Path, opened: Any, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        every_crash_point(workflow, tmp_path, open=opened)


@pytest.mark.parametrize("name", ["", "12", "after", "12 afer", "0 before", "-1 after", "a before"])
def test_a_point_that_is_none_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIT_CRASH", name)
    with pytest.raises(ConfigError, match="names no crash point"):
        every_crash_point(workflow, tmp_path, kill=False)


@pytest.mark.parametrize("word", ["a\u2028b", "a\rb", "a\x0bb", "a\nb", "a\tb", "\ud800", ""])
def test_effects_are_counted_whatever_they_are_called(tmp_path: Path, word: str) -> None:
    effects = Effects(tmp_path / "effects")
    effects.note(word)
    effects.note(word)
    point = CrashPoint(1, "before", True, "", effects.counts(), effects.repeated())
    assert CrashReport([point]).counts(word) == {2}


def test_the_environment_plays_one_point(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PLAIT_CRASH", "3 after")
    report = every_crash_point(workflow, tmp_path)
    assert [(point.request, point.when, point.died) for point in report.points] == [
        (3, "after", True)
    ]


LOSING = """
import sys
from pathlib import Path
from typing import TypedDict

from plait.graph import START, StateGraph
from plait.testing import every_crash_point, until_done


class State(TypedDict, total=False):
    lives: int


def workflow(saver, effects):
    effects.note("life")
    lives = effects.counts()["life"]
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"lives": lives}).add_edge(START, "a")
    config = {"configurable": {"thread_id": "1"}}
    return until_done(builder.compile(checkpointer=saver), {}, config)


if __name__ == "__main__":
    every_crash_point(workflow, Path("trials"), stride=3)
"""


@pytest.mark.parametrize("start", [["losing it.py"], ["-c", LOSING]])
def test_a_program_prints_the_command_that_plays_a_point_again(
    tmp_path: Path, start: list[str]
) -> None:
    (tmp_path / "losing it.py").write_text(LOSING)
    places = [str(Path(plait.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    kept = {name: text for name, text in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    kept["PYTHONPATH"] = os.pathsep.join(places)
    options: Any = {"cwd": tmp_path, "env": kept, "capture_output": True, "text": True}
    first = subprocess.run([sys.executable, *start], **options)
    assert 'replay: PLAIT_CRASH="1 before" ' in first.stderr
    command = first.stderr.partition("replay: ")[2].strip()
    again = subprocess.run(command, shell=True, **options)
    assert "Killed before storage request 1, the workflow ended with" in again.stderr
    assert again.stderr.partition("replay: ")[2].strip() == command
    (replay,) = (tmp_path / "trials").glob("replay-*")
    assert {trial.name for trial in replay.iterdir()} == {"undisturbed", "before-1"}


def test_what_is_typed_in_names_the_variable_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    point = CrashPoint(12, "after", True, "", Counter(), [])
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert point.replay.startswith(f'PLAIT_CRASH="12 after" {sys.executable} ')
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert point.replay == 'PLAIT_CRASH="12 after"'
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/test_a.py::test_b (call)")
    assert point.replay == "PLAIT_CRASH=\"12 after\" python -m pytest 'tests/test_a.py::test_b'"


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


# --- what runs again by its nature ----------------------------------------------------------------


def waiting(saver: Any, effects: Effects | None = None) -> Any:
    """Nodes that do something and then ask, sleep, fail once, or have the outcome of a crash looked
    up: each runs more than once although nothing is lost."""

    def note(word: str) -> None:
        if effects is not None:
            effects.note(word)

    def ask(state: Order) -> Order:
        note("ask")
        return {"log": [interrupt("well?", timeout=timedelta(days=30), default="no")]}

    def nap(state: Order) -> Order:
        note("nap")
        sleep(timedelta(days=7))
        return {"log": ["nap"]}

    def fail(state: Order) -> Order:
        note("fail")
        if get_runtime().execution_info.node_attempt == 1:
            raise ValueError("once")
        return {"log": ["fail"]}

    def look(state: Order) -> Order:
        note("look")
        return {"log": ["look"]}

    retry = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=ValueError)
    builder: Any = StateGraph(Order).add_node(ask).add_node(nap)
    builder.add_node(fail, retry_policy=retry)
    builder.add_node(look, on_unknown=lambda outcome: MISSING)
    builder.add_edge(START, "fail").add_edge(START, "look")
    builder.add_edge("fail", "ask").add_edge("ask", "nap")
    return builder.compile(checkpointer=saver)


def bring_to_end(saver: Any, effects: Effects) -> Any:
    return until_done(waiting(saver, effects), {"log": []}, CONFIG, answer="yes")


def abring_to_end(saver: Any, effects: Effects) -> Any:
    return asyncio.run(auntil_done(waiting(saver, effects), {"log": []}, CONFIG, answer="yes"))


@pytest.mark.parametrize("flow", [bring_to_end, abring_to_end])
def test_what_asks_sleeps_or_is_looked_up_is_not_taken_for_lost(tmp_path: Path, flow: Any) -> None:
    report = every_crash_point(flow, tmp_path, kill=False)
    assert report.deaths > 20
    assert min(report.counts("nap")) == min(report.counts("ask")) == 2
    assert {point.result for point in report.points} == {
        repr({"log": ["fail", "look", "yes", "nap"]})
    }


def test_encrypted_records_tell_what_has_ended_too(tmp_path: Path) -> None:
    serde = EncryptedSerializer.from_keys({"1": bytes(32)})
    report = every_crash_point(
        bring_to_end, tmp_path, kill=False, stride=3,
        open=lambda folder: SqliteSaver(folder / "threads.db", serde=serde),
    )  # fmt: skip
    assert report.deaths > 8


def test_graphs_that_sleep_and_ask_are_explored() -> None:
    played = explore(waiting, {"log": []}, seeds=range(10), crashes=2, answer="yes")
    assert sum(each.deaths for each in played) > 5


def test_a_thread_that_sleeps_for_ever_has_no_end() -> None:
    builder: Any = StateGraph(Order).add_node("nap", lambda state: sleep(math.inf))
    graph = builder.add_edge(START, "nap").compile(checkpointer=InMemorySaver())
    with pytest.raises(ConfigError, match="for ever"):
        until_done(graph, {"log": []}, CONFIG)
