"""Checkpoints of many threads, listed together: each as it is read alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from operator import add
from pathlib import Path
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from plait.checkpoint.base import empty_checkpoint
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import CorruptCheckpointError
from plait.graph import START, MessagesState, StateGraph
from plait.types import Command, Send, interrupt


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], add]
    facts: dict[str, Any]
    n: int
    word: str


def one_step(saver: Any, node: Callable[[Any], Any], schema: Any = State) -> Any:
    graph = StateGraph(schema).add_node("step", node).add_edge(START, "step")
    return graph.compile(checkpointer=saver)


def some_threads(saver: Any) -> None:
    """Threads of many kinds, short and long."""
    chat = one_step(saver, lambda state: {"messages": ("ai", "y" * 40)}, MessagesState)
    for name in ("a", "b", "c"):
        for _ in range(3):
            chat.invoke({"messages": ("user", "hello")}, thread(name))
    chat.update_state(
        list(chat.get_state_history(thread("a")))[4].config, {"messages": ("user", "a fork")}
    )
    notes = one_step(
        saver, lambda s: {"log": ["x" * 50], "n": s.get("n", 0) + 1, "facts": {"k": 1}}
    )
    for name, turns in (("short", 2), ("grown", 9), ("long", 40)):
        for turn in range(turns):
            notes.invoke({"log": [turn], "word": "w" * turn}, thread(name))
    for turn in range(30):
        notes.update_state(thread("dict"), {"facts": {str(n): "v" * 20 for n in range(turn)}})
    asking = one_step(saver, lambda s: {"log": [interrupt("which?")]})
    asking.invoke({"log": ["start"]}, thread("waits"))
    asking.invoke({"log": ["start"]}, thread("answered"))
    asking.invoke(Command(resume="this"), thread("answered"))
    fan = StateGraph(State).add_node("each", lambda s: {"log": [s["n"]]})
    fan.add_conditional_edges(START, lambda _: [Send("each", {"n": n}) for n in range(3)], ["each"])
    fan.compile(checkpointer=saver).invoke({"log": []}, thread("sends"))
    config = {"configurable": {"thread_id": "put", "checkpoint_ns": ""}}
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"log": [1]}}
    checkpoint["channel_versions"] = {"log": 3}
    config = saver.put(config, checkpoint, {"source": "update", "step": 1}, {"log": 3})
    saver.put_writes(config, [("log", [2])], "my task")


def test_all_threads_are_listed_as_each_checkpoint_is_read_alone(saver: Any) -> None:
    some_threads(saver)
    found = list(saver.list(None))
    assert len({each.config["configurable"]["thread_id"] for each in found}) == 11
    assert found == [saver.get_tuple(each.config) for each in found]
    ids = [each.checkpoint["id"] for each in found]
    assert ids == sorted(ids, reverse=True)
    filters: list[dict[str, Any]] = [
        {"source": "input"}, {"step": 2}, {"source": "loop", "step": 1}, {"step": 99}
    ]  # fmt: skip
    for wanted in filters:
        kept = [each for each in found if wanted.items() <= each.metadata.items()]
        assert list(saver.list(None, filter=wanted)) == kept
        assert list(saver.list(None, filter=wanted, limit=3)) == kept[:3]


def test_what_is_listed_together_shares_nothing(saver: Any) -> None:
    some_threads(saver)
    found, again = list(saver.list(None)), list(saver.list(None))
    for each in found:
        for value in each.checkpoint["channel_values"].values():
            if isinstance(value, list | dict):
                value.clear()
        each.metadata.clear()
        each.config["configurable"].clear()
    assert list(saver.list(None)) == again


def test_a_damaged_value_in_a_list_of_many_threads_is_told_by_its_thread(tmp_path: Path) -> None:
    path = str(tmp_path / "threads.db")
    with SqliteSaver.from_conn_string(path) as saver:
        some_threads(saver)
    with closing(sqlite3.connect(path)) as conn, conn:
        lane = conn.execute("SELECT lane FROM lanes WHERE thread_id = 'short'").fetchone()[0]
        rows = conn.execute(
            "UPDATE checkpoints SET record = cast(record || x'00' AS BLOB) WHERE lane = ? AND id = "
            "(SELECT max(id) FROM checkpoints WHERE lane = ?)",
            (lane, lane),
        ).rowcount
        assert rows == 1
    with (
        SqliteSaver.from_conn_string(path) as saver,
        pytest.raises(CorruptCheckpointError, match="thread 'short'"),
    ):
        list(saver.list(None))


def test_a_checkpoint_asked_for_often_is_new_each_time_and_follows_its_thread(saver: Any) -> None:
    chat = one_step(saver, lambda state: {"messages": ("ai", "yes")}, MessagesState)
    chat.invoke({"messages": ("user", "hello")}, thread("a"))
    first = saver.get_tuple(thread("a"))
    for _ in range(4):
        found = saver.get_tuple(thread("a"))
        assert found == first
        found.checkpoint["channel_values"]["messages"].clear()
        found.metadata.clear()
    chat.invoke({"messages": ("user", "more")}, thread("a"))
    assert len(saver.get_tuple(thread("a")).checkpoint["channel_values"]["messages"]) == 4
    assert saver.get_tuple(first.config) == first
    saver.put_writes(saver.get_tuple(thread("a")).config, [("messages", "late")], "task")
    assert [each[1:] for each in saver.get_tuple(thread("a")).pending_writes] == [
        ("messages", "late")
    ]


def test_a_short_checkpoint_is_read_with_one_request_from_the_third_time_on(saver: Any) -> None:
    chat = one_step(saver, lambda state: {"messages": ("ai", "yes")}, MessagesState)
    for _ in range(3):
        chat.invoke({"messages": ("user", "hello")}, thread("a"))
    expected = [saver.get_tuple(thread("a")) for _ in range(2)]
    asked: list[Any] = []
    execute = saver.execute

    def count(request: Any) -> Any:
        asked.append(type(request).__name__)
        return execute(request)

    saver.execute = count
    assert saver.get_tuple(thread("a")) == expected[0] == expected[1]
    assert asked == ["ReadHead"]
