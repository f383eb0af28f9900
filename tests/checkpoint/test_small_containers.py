"""Small lists and dicts are kept as copies in memory: nothing that a program does reaches them."""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.base.port import NewCheckpoint
from plait.checkpoint.log.requests import Append
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import StateGraph
from plait.types import interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    n: int
    facts: dict[str, Any]
    log: Annotated[list[Any], add]


class WatchedSaver(InMemorySaver):
    """A saver in memory that counts commits which nobody encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.appended = 0

    def execute(self, request: Any) -> Any:
        self.appended += type(request) is Append
        return super().execute(request)


def _graph(saver: Any, *nodes: Any) -> Any:
    return StateGraph(State).add_sequence([*nodes]).set_entry_point(nodes[0].__name__).compile(
        checkpointer=saver
    )  # fmt: skip


def _values(graph: Any) -> list[dict[str, Any]]:
    return [snapshot.values for snapshot in graph.get_state_history(THREAD)]


def test_what_a_node_returned_and_changes_later_stays_as_it_was_stored() -> None:
    facts, log = {"a": 1}, [1]

    def first(state: State) -> State:
        return {"facts": facts, "log": log}

    def second(state: State) -> State:
        facts["a"] = 2
        log.append(2)
        return {"log": [3]}

    saver = WatchedSaver()
    graph = _graph(saver, first, second)
    graph.invoke({"log": []}, THREAD)
    assert saver.appended == 3
    assert _values(graph)[:2] == [
        {"facts": {"a": 1}, "log": [1, 3]},
        {"facts": {"a": 1}, "log": [1]},
    ]
    assert ("facts", {"a": 1}) in _written(saver)


def _written(saver: Any) -> list[tuple[str, Any]]:
    entries = saver.list(THREAD)
    return [(key, value) for one in entries for _, key, value in one.pending_writes or ()]


def _spoil(value: Any) -> None:
    if isinstance(value, dict):
        for inner in value.values():
            _spoil(inner)
        value["spoiled"] = True
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _spoil(inner)
        if isinstance(value, list):
            value.append("spoiled")


READERS: dict[str, Any] = {
    "state": lambda graph: graph.get_state(THREAD).values,
    "history": _values,
    "tuples": lambda graph: [
        one.checkpoint["channel_values"] for one in graph.checkpointer.list(THREAD)
    ],
    "writes": lambda graph: _written(graph.checkpointer),
    "results": lambda graph: [
        task.result for one in graph.get_state_history(THREAD) for task in one.tasks
    ],
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_a_reader_changes_is_what_he_was_given_alone(read: Any) -> None:
    def first(state: State) -> State:
        return {"facts": {"a": 1}, "log": [1]}

    def second(state: State) -> State:
        return {"n": 1}

    graph = _graph(InMemorySaver(), first, second)
    graph.invoke({"log": [0]}, THREAD)
    before = repr(read(graph))
    _spoil(read(graph))
    assert repr(read(graph)) == before
    assert "'a': 1" in before


@pytest.mark.parametrize("between", [False, True])
def test_a_run_that_goes_on_does_not_change_what_it_started_from(between: bool) -> None:
    def first(state: State) -> State:
        return {"facts": {"a": 1}, "log": [1]}

    def other(state: State) -> State:
        return {"n": 1}

    def second(state: State) -> State:
        state["facts"]["a"] = 2
        state["log"].append(2)
        interrupt("?")
        return {}

    nodes = (first, other, second) if between else (first, second)
    graph = _graph(InMemorySaver(), *nodes)
    graph.invoke({"log": []}, THREAD)
    for _ in range(2):
        graph.invoke(None, THREAD)
        values = graph.get_state(THREAD).values
        assert values == {"facts": {"a": 1}, "log": [1], **({"n": 1} if between else {})}


@pytest.mark.parametrize(
    "value",
    [[], {}, [1, "a", None, True, 1.5, b"x"], {"a": "b", "c": None}, list(range(9)), ["x" * 95],
     {"k" * 95: 1}, {1: 2}, [[1]], {"a": [1]}, ["\u00e9" * 20], [2**70]],
    ids=repr,
)  # fmt: skip
def test_every_saver_tells_the_same_history(value: Any) -> None:
    def first(state: State) -> State:
        return {"log": [value]} if isinstance(value, list) else {"facts": value}

    def second(state: State) -> State:
        return {"log": value} if isinstance(value, list) else {"facts": {"z": 1}}

    def third(state: State) -> State:
        return {"log": [7]}

    told: list[Any] = []
    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        for saver in (InMemorySaver(), sqlite):
            graph = _graph(saver, first, second, third)
            graph.invoke({"facts": {}, "log": []}, THREAD)
            entries = list(saver.list(THREAD))
            told.append(
                (
                    _values(graph),
                    [one.checkpoint["channel_values"] for one in entries],
                    [[write[1:] for write in one.pending_writes or ()] for one in entries],
                )
            )
    assert told[0] == told[1]


@pytest.mark.parametrize("taken", range(5))
@pytest.mark.parametrize("sizes", ["slll", "slsl", "ssll", "lsls", "sssl", "lssl"])
def test_a_commit_builds_on_those_that_wait_for_the_saver(sizes: str, taken: int) -> None:
    """`async` durability makes commits, small and large ones, before those in front are done."""
    saver = InMemorySaver()
    session = saver.open_session("1")
    saver.run(session.claim())
    expected: list[dict[str, Any]] = [{}]
    waiting: list[Any] = []
    for n, size in enumerate(sizes):
        changed = {f"key{n}": [n], "all": [n] if size == "s" else ["long" * 100, n]}
        waiting.append(session.commit(made(str(n), str(n - 1) if n else None, changed)))
        expected.append({**expected[-1], **changed})
        if len(waiting) > taken:
            saver.run(waiting.pop(0))
    for plan in waiting:
        saver.run(plan)
    for n, values in enumerate(expected[1:]):
        assert saver.run(saver.open_session("1").load(str(n))).values == values


def made(id: str, parent: str | None, changed: dict[str, Any], removed: Any = ()) -> NewCheckpoint:
    return NewCheckpoint(id, parent, "", {}, {}, changed, removed)
