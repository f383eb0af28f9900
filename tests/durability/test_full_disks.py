"""A disk that is full from any page on: a typed error, and nothing lost or repeated once there is
room again, for threads, items and cached values in SQLite.

Twice: a database that may have no more pages, and a process whose files may be no longer. The first
meets connections of the program, the second all that plait opens itself: its commits in the thread
of an event loop, the log beside the file, and the heartbeat.
"""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from plait.cache.sqlite import SqliteCache
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import StorageUnavailableError
from plait.store.base import PutOp
from plait.store.sqlite import SqliteStore
from plait.testing.processes import Child

from . import workflow
from .test_faults import check_no_rerun
from .workflow import CONFIG, EXPECTED, NESTED, Journal, afinish, build, build_nested, finish

STEP = 2048
MOST_STEPS = 400
LEAST = 64 * 1024
"""Bytes that a file must have room for before anything can be stored: what the processes share."""
MANY = 1_000_000
TOLD = ("no space left", "disk is full")
Start = Callable[[Any], Child]
FLOWS = {"fan": (build, EXPECTED), "nested": (build_nested, NESTED)}


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def pages_for(conn: sqlite3.Connection, more: int) -> Iterator[None]:
    """A database may have so many pages more than it has."""
    (pages,) = conn.execute("PRAGMA page_count").fetchone()
    conn.execute(f"PRAGMA max_page_count = {pages + more}")
    try:
        yield
    finally:
        conn.execute(f"PRAGMA max_page_count = {MANY}")


def opened(path: Path) -> sqlite3.Connection:
    """A connection to a new file of small pages, so that there are many to stop at."""
    conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    conn.execute("PRAGMA page_size = 512")
    return conn


def go(graph: Any, api: str, durability: str) -> None:
    if api == "async":
        asyncio.run(afinish(graph, durability))
    else:
        finish(graph, durability)


def play(saver: Any, journal: Journal, case: tuple[str, str, str], full: Any) -> bool:
    """Bring a thread to its end through a full disk; whether it was met."""
    flow, api, durability = case
    make, expected = FLOWS[flow]
    graph, told = make(saver, journal, api), ""
    try:
        with full:
            go(graph, api, durability)
    except StorageUnavailableError as error:
        told = str(error)
    assert not told or any(sign in told for sign in TOLD), told
    go(graph, api, durability)
    state = graph.get_state(CONFIG)
    assert workflow.next_input(state) is ...
    assert state.values == expected
    if durability == "sync":
        check_no_rerun(journal, f"{case}")
    return bool(told)


CASES = pytest.mark.parametrize("case", [
    ("fan", "sync", "sync"), ("fan", "async", "sync"), ("fan", "async", "async"),
    ("fan", "sync", "exit"), ("nested", "sync", "sync"), ("nested", "async", "sync"),
], ids=" ".join)  # fmt: skip


@CASES
def test_a_database_that_may_not_grow_at_any_page_loses_and_repeats_nothing(
    tmp_path: Path, case: tuple[str, str, str]
) -> None:
    for more in count():
        assert more < MOST_STEPS
        conn = opened(tmp_path / f"{more}.db")
        with SqliteSaver(conn) as saver:
            saver.setup()
            met = play(saver, Journal(tmp_path / f"{more}"), case, pages_for(conn, more))
        conn.close()
        if not met:
            break
    assert more >= 2, "the disk was hardly ever full"


@CASES
def test_a_disk_that_is_full_at_any_page_loses_and_repeats_nothing(
    tmp_path: Path, start: Start, case: tuple[str, str, str]
) -> None:
    def work(tell: Callable[[str], Any]) -> None:
        met = 0
        for size in count(0, STEP):
            assert size < MOST_STEPS * STEP
            with SqliteSaver(tmp_path / f"{size}.db") as saver:
                if play(saver, Journal(tmp_path / f"{size}"), case, room_for(size)):
                    met += 1
                elif size > LEAST:
                    break
        tell(str(met))

    child = start(work)
    assert int(child.hear()) > 16, "the disk was hardly ever full"
    assert child.wait() == 0


def test_a_batch_of_items_that_meets_a_full_disk_is_stored_whole_or_not_at_all(
    tmp_path: Path,
) -> None:
    index: Any = {"dims": 2, "embed": lambda texts: [[float(len(text)), 1.0] for text in texts]}
    for more in count():
        conn = opened(tmp_path / f"{more}.db")
        with SqliteStore(conn, index=index) as store:
            store.put(("first",), "k", {"text": "x"})
            kept: set[tuple[str, ...]] = {("first",)}
            with pages_for(conn, more):
                for number in range(9):
                    ns = (f"{number}",)
                    ops = [PutOp(ns, key, {"text": key * 300}) for key in "abc"]
                    try:
                        store.batch(ops)
                    except StorageUnavailableError:
                        continue
                    kept.add(ns)
            assert {item.namespace for item in store.search((), limit=100)} == kept
            found = store.search((), query="b", limit=100)
            assert len(found) == 3 * len(kept) - 2
            assert all(item.score is not None for item in found), "its vectors are there, too"
            store.put(("last",), "k", {"text": "x"})
        conn.close()
        if len(kept) == 10:
            break
    assert more >= 5, "the disk was hardly ever full"


def test_a_cache_goes_on_once_there_is_room(tmp_path: Path, start: Start) -> None:
    def work(tell: Callable[[str], Any]) -> None:
        met = 0
        key: Any = (("square",), "k")
        for size in range(0, LEAST, STEP):
            with SqliteCache(path=tmp_path / f"{size}.db") as cache:
                refused = None
                with room_for(size):
                    try:
                        cache.set({key: ("x" * 9000, None)})
                    except StorageUnavailableError as error:
                        refused = error
                met += refused is not None
                assert cache.get([key]) == ({} if refused else {key: "x" * 9000})
                cache.set({key: ("y", None)})
                assert cache.get([key]) == {key: "y"}
        tell(str(met))

    child = start(work)
    assert int(child.hear()) > 8, "the disk was hardly ever full"
    assert child.wait() == 0
