"""How far long work is: told inside long threads too; who is told changes nothing."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Generator, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.log import progress
from plait.checkpoint.log.progress import Progress, telling
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import START, StateGraph


class State(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Holds one long thread and a short one; words come each 50 records."""
    monkeypatch.setattr(progress, "EVERY", 50)
    with InMemorySaver() if request.param == "memory" else SqliteSaver(tmp_path / "t.db") as saver:
        builder = StateGraph(State).add_node("echo", lambda state: {"items": ["re"]})
        graph: Any = builder.add_edge(START, "echo").compile(checkpointer=saver)
        for n in range(60):
            graph.invoke({"items": [n]}, {"configurable": {"thread_id": "long"}})
        graph.invoke({"items": [0]}, {"configurable": {"thread_id": "short"}})
        yield saver


def check(told: list[Progress], done: int, total: int | None) -> None:
    """Some words amid the long thread, counting up; then one that it is done."""
    amid = [each.records for each in told if each.records]
    assert amid
    assert all(later - before >= 50 for before, later in pairwise(amid))
    assert {each.thread_id for each in told if each.records} == {"long"}
    assert told[-1][1:] == (done, total, 0)


WORK = {
    "prune": lambda saver, tell: saver.prune(["long", "short"], progress=tell),
    "aprune": lambda saver, tell: asyncio.run(saver.aprune(["long", "short"], progress=tell)),
    "copy": lambda saver, tell: saver.copy_thread("long", "twin", progress=tell),
    "acopy": lambda saver, tell: asyncio.run(saver.acopy_thread("long", "twin", progress=tell)),
    "runs": lambda saver, tell: saver.delete_for_runs(["none"], progress=tell),
}
ENDS = {"prune": (2, 2), "aprune": (2, 2), "copy": (1, 1), "acopy": (1, 1), "runs": (2, None)}


@pytest.mark.parametrize("work", WORK)
def test_long_threads_are_told_of_while_they_are_worked_on(saver: Any, work: str) -> None:
    told: list[Progress] = []
    WORK[work](saver, told.append)
    check(told, *ENDS[work])


def test_counting_bytes_tells_too_and_counts_the_same(saver: Any) -> None:
    told: list[Progress] = []
    usage = saver.usage("long", progress=told.append)
    assert [each.records for each in told] == sorted({each.records for each in told})
    assert len(told) >= 2
    assert usage == saver.usage("long")
    assert usage == asyncio.run(saver.ausage("long", progress=told.append))


def test_what_is_copied_is_the_same_whether_somebody_is_told_or_not(saver: Any) -> None:
    saver.copy_thread("long", "a")
    saver.copy_thread("long", "b", progress=lambda at: None)
    assert saver.usage("a").by_channel == saver.usage("b").by_channel


# --- the wrapper itself --------------------------------------------------------------------------


def work(log: list[Any]) -> Generator[Any, Any, str]:
    try:
        log.append((yield "first"))
        try:
            yield "second"
        except ValueError as error:
            log.append(error)
        log.append((yield "third"))
        return "end"
    finally:
        log.append("closed")


def test_errors_and_answers_pass_through() -> None:
    log: list[Any] = []
    plan = telling(work(log), lambda at: None, "t", 0, 1)
    error = ValueError("no")
    assert next(plan) == "first"
    assert plan.send([1]) == "second"
    assert plan.throw(error) == "third"
    with pytest.raises(StopIteration) as end:
        plan.send(3)
    assert (end.value.value, log) == ("end", [[1], error, 3, "closed"])


def test_work_that_is_given_up_is_closed() -> None:
    log: list[Any] = []
    plan = telling(work(log), lambda at: None, "t", 0, 1)
    next(plan)
    plan.close()
    assert log == ["closed"]


def test_work_that_asks_for_nothing_ends() -> None:
    def nothing() -> Generator[Any, Any, int]:
        return 3
        yield

    with pytest.raises(StopIteration) as end:
        next(telling(nothing(), lambda at: None, "t", 0, 1))
    assert end.value.value == 3


def test_an_error_of_who_is_told_ends_the_work(saver: Any) -> None:
    def tell(at: Progress) -> None:
        raise KeyError("told")

    with pytest.raises(KeyError, match="told"):
        saver.copy_thread("long", "twin", progress=tell)
    saver.copy_thread("long", "twin")  # nothing is left in its way
