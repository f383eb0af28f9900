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
from plait.checkpoint.serde import Codec
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import CorruptCheckpointError
from plait.graph import START, MessagesState, StateGraph
from plait.types import Command, Send, interrupt


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def noted_requests(saver: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a saver is asked from now on."""
    asked: list[Any] = []
    execute = saver.execute

    def note(request: Any) -> Any:
        asked.append(request)
        return execute(request)

    monkeypatch.setattr(saver, "execute", note)
    return asked


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


@pytest.mark.parametrize("length", [5, 5000])
def test_a_checkpoint_asked_for_often_is_new_each_time_and_follows_its_thread(
    saver: Any, length: int
) -> None:
    chat = one_step(saver, lambda state: {"messages": ("ai", "yes")}, MessagesState)
    chat.invoke({"messages": ("user", "x" * length)}, thread("a"))
    first = saver.get_tuple(thread("a"))
    for _ in range(4):
        found = saver.get_tuple(thread("a"))
        assert found == first
        assert [*found.checkpoint["channel_values"]] == [*first.checkpoint["channel_values"]]
        found.checkpoint["channel_values"]["messages"].clear()
        found.metadata.clear()
    chat.invoke({"messages": ("user", "more")}, thread("a"))
    assert len(saver.get_tuple(thread("a")).checkpoint["channel_values"]["messages"]) == 4
    assert saver.get_tuple(first.config) == first
    saver.put_writes(saver.get_tuple(thread("a")).config, [("messages", "late")], "task")
    assert [each[1:] for each in saver.get_tuple(thread("a")).pending_writes] == [
        ("messages", "late")
    ]


def test_a_short_checkpoint_is_read_with_one_request_from_the_third_time_on(
    saver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = one_step(saver, lambda state: {"messages": ("ai", "yes")}, MessagesState)
    for _ in range(3):
        chat.invoke({"messages": ("user", "hello")}, thread("a"))
    expected = [saver.get_tuple(thread("a")) for _ in range(2)]
    asked = noted_requests(saver, monkeypatch)
    assert saver.get_tuple(thread("a")) == expected[0] == expected[1]
    assert [type(each).__name__ for each in asked] == ["ReadHead"]


def test_a_long_checkpoint_is_packed_once_to_be_shown_and_its_long_values_are_read(
    saver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = one_step(saver, lambda s: {"n": 7, "word": "short", "facts": {"k": "v" * 5000}})
    notes.invoke({"log": ["x" * 50] * 100}, thread("a"))
    expected = [saver.get_tuple(thread("a")) for _ in range(2)]
    asked = noted_requests(saver, monkeypatch)

    def pack(codec: Codec, value: Any) -> bytes:
        raise AssertionError("nothing is stored here")

    monkeypatch.setattr(Codec, "dumps", pack)
    assert saver.get_tuple(thread("a")) == expected[0] == expected[1]
    assert [type(each).__name__ for each in asked] == ["ReadHead", "ReadValues"]
    assert {channel for channel, _ in asked[1].keys} == {"log", "facts"}


def test_a_long_value_that_was_damaged_is_noticed_however_often_it_was_shown(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "threads.db")
    with SqliteSaver.from_conn_string(path) as saver:
        one_step(saver, lambda s: {"word": "w" * 5000}).invoke({"n": 1}, thread("a"))
        for _ in range(3):
            assert saver.get_tuple(thread("a")).checkpoint["channel_values"]["n"] == 1
        with closing(sqlite3.connect(path)) as conn, conn:
            rows = conn.execute(
                "UPDATE versions SET record = cast(record || x'00' AS BLOB) WHERE channel = 'word'"
            ).rowcount
        assert rows == 1
        with pytest.raises(CorruptCheckpointError, match=r"thread 'a'.*channel 'word'"):
            saver.get_tuple(thread("a"))


def test_more_threads_take_no_more_requests_to_list_what_a_filter_lets_through(
    saver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = one_step(saver, lambda s: {"log": ["x" * 50]})
    for number in range(20):
        notes.invoke({"log": [number]}, thread(f"{number}"))
    kept = [each for each in saver.list(None) if each.metadata["step"] == 0]
    asked = noted_requests(saver, monkeypatch)
    assert list(saver.list(None, filter={"step": 0})) == kept
    kinds = [type(each).__name__ for each in asked]
    assert {*kinds} <= {"ListNewest", "ReadPages", "ReadValuesOf"}
    assert len(kinds) < 10


def short_threads(saver: Any, count: int = 3) -> Any:
    notes = one_step(saver, lambda s: {"log": ["x" * 50], "facts": {"k": [1]}})
    for number in range(count):
        notes.invoke({"log": [number], "word": "w"}, thread(f"{number}"))
    return notes


def test_threads_that_are_listed_often_are_new_each_time_and_followed(saver: Any) -> None:
    notes = short_threads(saver)
    for wanted in (None, {"step": 0}):
        first = list(saver.list(None, filter=wanted))
        for _ in range(4):
            found = list(saver.list(None, filter=wanted))
            assert found == first == [saver.get_tuple(each.config) for each in found]
            for each in found:
                each.checkpoint["channel_values"].clear()
                each.metadata.clear()
                each.config["configurable"].clear()
                each.pending_writes.clear()
    for change in (
        lambda: notes.update_state(thread("1"), {"log": ["more"]}),
        lambda: saver.put_writes(saver.get_tuple(thread("2")).config, [("log", [3])], "late"),
        lambda: saver.delete_thread("0"),
    ):
        before = list(saver.list(None))
        change()
        found = list(saver.list(None))
        assert found != before
        assert found == [saver.get_tuple(each.config) for each in found]


@pytest.mark.parametrize(
    ("table", "column"),
    [("checkpoints", "record"), ("checkpoints", "kept"), ("checkpoints", "acks"),
     ("versions", "record")],
)  # fmt: skip
def test_what_was_damaged_is_noticed_however_often_it_was_listed(
    tmp_path: Path, table: str, column: str
) -> None:
    path = str(tmp_path / "threads.db")
    long = {"word": "w" * 600} if table == "versions" else {}  # else it travels with a checkpoint
    with SqliteSaver.from_conn_string(path) as saver:
        one_step(saver, lambda s: {"log": [1], **long}).invoke({"n": 1}, thread("a"))
        for _ in range(4):
            assert len(list(saver.list(None))) == 3
        with closing(sqlite3.connect(path)) as conn, conn:
            rows = conn.execute(
                f"UPDATE {table} SET {column} = cast(substr({column}, 1, length({column}) - 1) || "
                f"x'00' AS BLOB) WHERE {column} IS NOT NULL"
            ).rowcount
        assert rows
        with pytest.raises(CorruptCheckpointError):
            list(saver.list(None))


def test_a_filter_is_told_from_its_like(saver: Any) -> None:
    short_threads(saver)
    values: list[Any] = [1]
    for _ in range(3):
        assert len(list(saver.list(None, filter={"step": 1}))) == 3
        assert list(saver.list(None, filter={"step": True})) == []
    wanted: dict[str, Any] = {"parents": {}}
    for _ in range(3):
        assert len(list(saver.list(None, filter=wanted))) == 9
    wanted["parents"]["x"] = values
    assert list(saver.list(None, filter=wanted)) == []
