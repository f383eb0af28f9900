"""What a database cannot hold is named, and stands in nobody's way."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from string import ascii_letters
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import InvalidValueError, StorageError, StorageUnavailableError
from plait.stored import list_threads

from .graphs import config, line
from .savers import Place


def goes_on(graph: Any) -> bool:
    return graph.invoke({"items": []}, config("1")) == {"items": ["a", "b"]}


def test_a_name_that_is_no_text_is_named(db: Place) -> None:
    with db.open() as saver:
        graph, half = line(saver), config("half: \udc80")
        with pytest.raises(InvalidValueError, match=r"'half: .*surrogate"):
            graph.invoke({"items": []}, half)
        with pytest.raises(InvalidValueError, match="surrogate"):
            asyncio.run(graph.ainvoke({"items": []}, half))
        with pytest.raises(InvalidValueError, match="surrogate"):
            saver.delete_thread("\udc80")
        assert goes_on(graph)


def test_the_saver_in_memory_takes_no_name_that_a_database_would_refuse() -> None:
    saver = InMemorySaver()
    graph, half = line(saver), config("half: \udc80")
    calls: list[Callable[[], Any]] = [
        lambda: graph.invoke({"items": []}, half),
        lambda: asyncio.run(graph.ainvoke({"items": []}, half)),
        lambda: graph.get_state(half),
        lambda: list(graph.get_state_history(half)),
        lambda: list(saver.list(half)),
        lambda: saver.get_tuple(half),
        lambda: saver.delete_thread("\udc80"),
        lambda: saver.prune(["\udc80"]),
        lambda: saver.copy_thread("1", "\udc80"),
        lambda: saver.usage("\udc80"),
    ]
    assert goes_on(graph)
    for call in calls:
        with pytest.raises(InvalidValueError, match="surrogate"):
            call()
    assert [each.thread_id for each in list_threads(saver)] == ["1"]


def test_a_name_that_is_too_long_for_an_index_is_named_and_short_ones_are_not(db: Place) -> None:
    dice = random.Random(0)
    long, longer = ("".join(dice.choices(ascii_letters, k=n)) for n in (2_500, 10_000))
    with db.open() as saver:
        graph = line(saver)
        graph.invoke({"items": []}, config(long))
        assert graph.get_state(config(long)).values == {"items": ["a", "b"]}
        if db.kind == "sqlite":
            assert graph.invoke({"items": []}, config(longer)) == {"items": ["a", "b"]}
        else:
            with pytest.raises(StorageError, match="2,500 bytes") as raised:
                graph.invoke({"items": []}, config(longer))
            assert not isinstance(raised.value, StorageUnavailableError)
        assert goes_on(graph)


def test_a_value_that_is_too_big_for_sqlite_is_named(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "threads.db", check_same_thread=False) as conn:
        graph = line(SqliteSaver(conn))
        assert goes_on(graph)
        conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)  # as if it were 1 GB
        huge = {"items": [random.Random(0).randbytes(200_000)]}
        with pytest.raises(StorageError, match="a value of that size") as raised:
            graph.invoke(huge, config("2"))
        assert not isinstance(raised.value, StorageUnavailableError)
        assert graph.get_state(config("1")).values == {"items": ["a", "b"]}
