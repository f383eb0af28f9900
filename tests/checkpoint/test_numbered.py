"""Numbered parameters on the releases of Python that warn of them."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.sqlite import SqliteSaver
from plait.sqlite import database
from plait.sqlite.numbered import WARNED_OF, NumberedConnection, taken


@pytest.fixture
def conn() -> Iterator[Any]:
    conn = NumberedConnection(sqlite3.connect(":memory:", isolation_level=None))
    conn.execute("CREATE TABLE said (a, b)")
    yield conn
    conn.close()


def test_values_are_found_by_their_numbers(conn: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conn.execute("INSERT INTO said VALUES (?2, ?1)", ("b", "a"))
        conn.executemany("INSERT INTO said VALUES (?1, ?1 || ?2)", [("c", "d"), ("e", "f")])
        cursor = conn.cursor()
        found = cursor.execute("SELECT a, b FROM said WHERE a IN (?1, ?2)", ("a", "c")).fetchall()
    assert found == [("a", "b"), ("c", "cd")]
    assert conn.execute("SELECT count(*) FROM said").fetchone() == (3,)
    assert conn.execute("UPDATE said SET b = ?1", ("x",)).rowcount == 3


def test_this_python_stores_without_a_warning(tmp_path: Path) -> None:
    conn = sqlite3.connect(":memory:")
    assert type(taken(conn)) is (NumberedConnection if WARNED_OF else sqlite3.Connection)
    conn.close()
    with warnings.catch_warnings(), SqliteSaver(tmp_path / "threads.db") as saver:
        warnings.simplefilter("error")
        _store(saver)


def test_a_saver_stores_on_such_a_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "taken", NumberedConnection)
    with SqliteSaver(tmp_path / "threads.db") as saver:
        _store(saver)


def test_a_saver_stores_on_one_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "taken", NumberedConnection)
    conn = sqlite3.connect(tmp_path / "threads.db", check_same_thread=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _store(SqliteSaver(conn))
    conn.close()


def _say(state: Any) -> Any:
    return {"messages": "hello"}


def _store(saver: Any) -> None:
    from plait.graph import START, MessagesState, StateGraph

    builder: Any = StateGraph(MessagesState)
    builder.add_node("say", _say).add_edge(START, "say")
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    for turns in (1, 2):
        graph.invoke({"messages": "hi"}, config)
        assert len(graph.get_state(config).values["messages"]) == 2 * turns
    assert len(list(graph.get_state_history(config))) == 6
    assert len(list(saver.list(None))) == 6
    saver.copy_thread("1", "2")
    saver.delete_thread("1")
    assert len(list(saver.list(None))) == 6
