"""Listing threads asks for many at once, and a damaged one spoils no list."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any, TypedDict

import pytest

from plait.checkpoint.log.requests import ListThreads, ReadPages
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import CorruptCheckpointError
from plait.graph import START, StateGraph
from plait.stored import PAGE, list_threads
from plait.types import interrupt


class State(TypedDict, total=False):
    said: str


def ask(state: State) -> State:
    return {"said": interrupt("what?")}


def begun(saver: Any, number: int) -> None:
    graph: Any = StateGraph(State).add_node(ask).add_edge(START, "ask").compile(checkpointer=saver)
    for each in range(number):
        graph.invoke({"said": "a"}, {"configurable": {"thread_id": str(each)}})


def test_threads_are_read_a_page_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    saver = InMemorySaver()
    begun(saver, PAGE + 1)
    asked: Counter[type] = Counter()
    execute = saver.execute

    def counted(request: Any) -> Any:
        asked[type(request)] += 1
        return execute(request)

    monkeypatch.setattr(saver, "execute", counted)
    threads = [*list_threads(saver)]
    assert [(each.thread_id, each.next, len(each.questions)) for each in threads] == [
        (str(number), ("ask",), 1) for number in range(PAGE + 1)
    ]
    assert asked == {ListThreads: 2, ReadPages: 2}


def test_a_thread_whose_row_is_damaged_is_told_of_beside_the_others(tmp_path: Path) -> None:
    file = str(tmp_path / "threads.db")
    with SqliteSaver(file) as saver:
        begun(saver, 3)
    with sqlite3.connect(file) as conn:
        of = "WHERE lane = (SELECT lane FROM lanes WHERE thread_id = '1')"
        changed = conn.execute(f"UPDATE checkpoints SET kept = x'ffff' {of}")
        assert changed.rowcount
    with SqliteSaver(file) as saver:
        threads = [*list_threads(saver)]
    assert [each.thread_id for each in threads] == ["0", "1", "2"]
    assert [len(each.questions) for each in threads] == [1, 0, 1]
    assert isinstance(threads[1].error, CorruptCheckpointError)
