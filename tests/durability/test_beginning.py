"""A run's claim, its input and the super-step of its start share one transaction.

No code of a user lies between the two checkpoints, so a fresh call on a database waits for it once
less. What is stored and told is what it is where each has a transaction of its own.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from time import time
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.base import new_checkpoint_id
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.requests import (
    Claim,
    Done,
    ReadLane,
    Refused,
    Together,
    Transact,
    parts_of,
)
from plait.checkpoint.memory import InMemorySaver
from plait.errors import StorageUnavailableError, ThreadBusyError, UnregisteredTypeError
from plait.graph import END, START, StateGraph
from plait.testing.processes import GAVE_UP
from plait.types import Command

from .savers import OneWay, Place

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class Strict(TypedDict):
    items: Annotated[list[Any], lambda old, new: old + new]


class Counting(OneWay):
    """Notes how many checkpoints each transaction stores; fails at the nth, if asked to."""

    stored: list[int]
    fails_at: int | None = None

    def execute(self, request: Any) -> Any:
        found = [each for each in parts_of(request) if type(each) is Transact]
        if not hasattr(self, "stored"):
            self.stored = []
        if found and len(self.stored) == self.fails_at:
            self.fails_at = None
            raise StorageUnavailableError("the disk is gone")
        self.stored += [len(each.checkpoints) for each in found]
        return super().execute(request)  # type: ignore[misc]


def _graph(saver: Any, work: Any = lambda state: {"items": ["done"]}, **options: Any) -> Any:
    builder = StateGraph(Strict).add_node("work", work)
    return builder.add_edge(START, "work").compile(checkpointer=saver, **options)


def _history(graph: Any) -> list[Any]:
    return [
        (each.values, each.next, each.metadata, [(task.name, task.result) for task in each.tasks])
        for each in graph.get_state_history(CONFIG)
    ]


def _call(graph: Any, given: Any, api: str, **options: Any) -> Any:
    if api == "sync":
        return graph.invoke(given, CONFIG, **options)
    return asyncio.run(graph.ainvoke(given, CONFIG, **options))


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("api", ["sync", "async"])
def test_a_call_waits_for_two_transactions(db: Place, api: str, durability: str) -> None:
    with db.open(Counting) as saver:
        graph, other = _graph(saver), _graph(InMemorySaver())
        for turn in range(3):
            saver.stored = []
            _call(graph, {"items": [turn]}, api, durability=durability)
            other.invoke({"items": [turn]}, CONFIG)
            assert saver.stored == [2, 1]
            assert _history(graph) == _history(other)
    with db.open() as saver:
        assert _history(_graph(saver)) == _history(other)


def test_a_nested_graph_waits_once_less_too(db: Place) -> None:
    with db.open(Counting) as saver:
        graph = StateGraph(Strict).add_node("inner", _graph(None)).add_edge(START, "inner")
        graph.compile(checkpointer=saver).invoke({"items": []}, CONFIG)
        assert saver.stored == [2, 2, 1, 1]


def test_path_functions_of_the_start_run_after_the_input_is_stored(db: Place) -> None:
    with db.open(Counting) as saver:
        seen: list[Any] = []

        def choose(state: Any) -> str:
            seen.append(saver.stored)
            return END

        builder = StateGraph(Strict).add_node("work", lambda state: None)
        graph = builder.add_conditional_edges(START, choose).compile(checkpointer=saver)
        graph.invoke({"items": []}, CONFIG)
        assert seen == [[1, 1]]
        assert saver.stored == [1, 1]


@pytest.mark.parametrize("api", ["sync", "async"])
def test_an_input_that_its_start_refuses_is_stored(db: Place, api: str) -> None:
    """And the thread is free again, as without."""

    def shown(saver: Any) -> Any:
        graph = _graph(saver)
        _call(graph, {"items": ["good"]}, api)
        with pytest.raises(TypeError, match="can only concatenate list"):
            _call(graph, {"items": 5}, api)
        before = _history(graph)
        return before, _call(graph, {"items": ["more"]}, api), _history(graph)

    with db.open() as saver:
        assert shown(saver) == shown(InMemorySaver())


def test_a_value_that_cannot_be_stored_is_told_before_anything_runs(db: Place) -> None:
    class Unknown:
        pass

    ran: list[str] = []
    with db.open() as saver:
        graph = _graph(saver, lambda state: ran.append("work"))
        with pytest.raises(UnregisteredTypeError, match=r"'items'|__start__"):
            graph.invoke({"items": [Unknown()]}, CONFIG)
        assert not ran
        assert graph.invoke({"items": [1]}, CONFIG) == {"items": [1]}


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("api", ["sync", "async"])
def test_no_node_runs_on_a_thread_that_is_busy(db: Place, api: str, durability: str) -> None:
    """The claim is among what is put off, and never lags."""
    ran: list[str] = []
    with db.open() as saver, db.open() as other, ThreadPoolExecutor(1) as pool:
        rival = _graph(other, lambda state: ran.append("rival"))

        def work(state: Any) -> None:
            ran.append("first")
            call = pool.submit(_call, rival, {"items": [2]}, api, durability=durability)
            with pytest.raises(ThreadBusyError, match="is owned by"):
                call.result(GAVE_UP)

        graph = _graph(saver, work)
        assert graph.invoke({"items": [1]}, CONFIG) == {"items": [1]}
        assert ran == ["first"]
        assert graph.get_state(CONFIG).values == {"items": [1]}


@pytest.mark.parametrize("api", ["sync", "async"])
@pytest.mark.parametrize("nth", range(2))
def test_a_transaction_that_fails_stores_all_of_it_or_nothing(
    db: Place, nth: int, api: str
) -> None:
    with db.open(Counting) as saver:
        graph = _graph(saver)
        saver.stored, saver.fails_at = [], nth
        with pytest.raises(StorageUnavailableError):
            _call(graph, {"items": [1]}, api)
        history = _history(graph)
        assert len(history) == 2 * nth
        assert _call(graph, None if nth else {"items": [1]}, api) == {"items": [1, "done"]}
        assert len(_history(graph)) == 3


@pytest.mark.parametrize("width", [1, 2])
def test_a_beginning_whose_claim_is_refused_stores_nothing(db: Place, width: int) -> None:
    """Even where another run has just made the fence that the claim was to make."""
    with db.open() as saver:
        graph = _graph(saver)
        graph.invoke({"items": [1]}, CONFIG)
        history, root = _history(graph), saver.execute(ReadLane("1", ""))
        late = Claim(root.fence - 1, root.lease, "another", time() + 30)
        first, second = pack(new_checkpoint_id()), pack(new_checkpoint_id())
        begin = Transact("1", "", claim=late, head=second)
        begin.checkpoints = [(first, root.head, b"first"), (second, first, b"second")]
        assert len(begin.apart()) == 2
        other = Transact("other", "", seed=1)
        if width == 1:
            answer = saver.execute(begin)
        else:
            answer, beside = saver.execute(Together([begin, other]))
            assert isinstance(beside, Done)
        assert isinstance(answer, Refused)
        assert answer.root is not None
        assert answer.root._replace(clock=root.clock) == root
        assert _history(graph) == history


def test_breakpoints_and_commands_see_the_input_as_before(db: Place) -> None:
    def shown(saver: Any) -> Any:
        graph = _graph(saver)
        graph.invoke({"items": [1]}, CONFIG, interrupt_before=["__start__"])
        first = _history(graph)
        graph.invoke({"items": [2]}, CONFIG, interrupt_after=["__start__"])
        second = _history(graph)
        graph.invoke(Command(update={"items": [3]}), CONFIG)
        return first, second, _history(graph)

    with db.open() as saver:
        assert shown(saver) == shown(InMemorySaver())


@pytest.mark.parametrize("modes", [["values", "updates"], ["checkpoints", "tasks", "debug"]])
def test_nothing_is_told_before_it_is_stored(db: Place, modes: list[str]) -> None:
    with db.open(Counting) as saver:
        graph = _graph(saver)
        stream = graph.stream({"items": [1]}, CONFIG, stream_mode=modes)
        next(stream)
        assert saver.stored == [2]
        told = [mode for mode, _ in stream]
        other = _graph(InMemorySaver()).stream({"items": [1]}, CONFIG, stream_mode=modes)
        assert told == [mode for mode, _ in other][1:]
