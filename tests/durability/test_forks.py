"""A process forks while its threads are at work: in the child, nothing waits for them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plait.cache.memory import InMemoryCache
from plait.callbacks import BaseCallbackHandler
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.common.ids import new_id
from plait.config import get_stream_writer
from plait.drivers.env import SYSTEM
from plait.errors import ConfigError, StorageUnavailableError
from plait.sqlite import database
from plait.store.memory import InMemoryStore
from plait.store.sqlite import SqliteStore
from plait.testing.processes import Child
from plait.utils import uuid

from .graphs import adder, chain, config, line

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
SECONDS = 60
"""A child that hangs is ended by an alarm after so long."""


def in_a_child(work: Callable[[], str]) -> str:
    """What work returns in a forked child ("": it failed or hung)."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(SECONDS)
        try:
            os.write(write, work().encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        said = told.read()
    os.waitpid(pid, 0)
    return said


def while_held(lock: Any, work: Callable[[], str]) -> str:
    """What work returns in a child that is forked while a thread of its parent holds a lock."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(SECONDS)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(SECONDS)
    try:
        return in_a_child(work)
    finally:
        done.set()
        thread.join()


def test_a_child_makes_ids_of_its_own_whoever_was_making_one() -> None:
    mine = SYSTEM.checkpoint_id()
    its = while_held(SYSTEM._lock, SYSTEM.checkpoint_id)
    assert its
    assert its[-10:] != mine[-10:], "what tells processes apart is the same"
    other = in_a_child(SYSTEM.checkpoint_id)
    assert len({mine[-10:], its[-10:], other[-10:]}) == 3
    assert while_held(uuid._clock._lock, lambda: str(uuid.uuid7()))


def test_ids_are_new_in_each_child_and_after_each_seed_of_the_program() -> None:
    ids = {in_a_child(new_id) for _ in range(2)} | {new_id()}
    for _ in range(2):
        random.seed(1)
        ids.add(new_id())
    assert "" not in ids, "a child failed"
    assert len(ids) == 5


def test_a_child_reads_stores_and_caches_whoever_was_at_work_in_them() -> None:
    store, cache = InMemoryStore(), InMemoryCache()
    store.put(("a",), "b", {"c": 1})
    cache.set({(("a",), "b"): ("c", None)})
    assert while_held(store._lock, lambda: str(store.search(("a",))[0].value)) == "{'c': 1}"
    found = while_held(cache._lock, lambda: str(cache.get([(("a",), "b")])))
    assert found == "{(('a',), 'b'): 'c'}"


@pytest.mark.parametrize("in_file", [True, False])
def test_a_child_goes_on_with_a_thread_whoever_was_reading(tmp_path: Path, in_file: bool) -> None:
    with SqliteSaver(tmp_path / "threads.db") if in_file else InMemorySaver() as saver:
        graph = line(saver)
        graph.invoke({"items": []}, config(1))

        def go_on() -> str:
            graph.invoke({"items": []}, config(1))
            return " ".join(asyncio.run(graph.ainvoke({"items": []}, config(1)))["items"])

        assert while_held(saver._recent._lock, go_on) == "a b a b a b"


def test_workers_forked_from_a_busy_parent_share_its_file(tmp_path: Path) -> None:
    with SqliteSaver(tmp_path / "threads.db") as saver:
        graph = line(saver)
        stop = threading.Event()

        def busy(name: str) -> None:
            while not stop.is_set():
                graph.invoke({"items": []}, config(name))

        threads = [threading.Thread(target=busy, args=(f"busy {n}",)) for n in range(3)]
        for thread in threads:
            thread.start()
        try:
            for n in range(6):
                run = graph.invoke if n % 2 else lambda *given: asyncio.run(graph.ainvoke(*given))
                said = in_a_child(lambda n=n, run=run: str(run({"items": []}, config(n))))
                assert said == "{'items': ['a', 'b']}"
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert len(graph.get_state(config(5)).values["items"]) == 2


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("heard", [False, True])
def test_a_worker_that_a_node_forked_is_not_inside_that_node(
    tmp_path: Path, durability: Any, heard: bool
) -> None:
    with SqliteSaver(tmp_path / "threads.db") as saver:
        helper, kept = line(None), line(saver)

        def node(state: Any) -> Any:
            def work() -> str:
                asyncio.run(kept.ainvoke({"items": []}, config("its own")))
                return " ".join(helper.invoke({"items": []})["items"])

            return {"items": [in_a_child(work)]}

        graph = chain(saver, ("a", adder("a")), ("node", node))
        here = config("the node's") | ({"callbacks": [BaseCallbackHandler()]} if heard else {})
        state = graph.invoke({"items": []}, here, durability=durability)
        assert state == {"items": ["a", "a b"]}
        assert kept.get_state(config("its own")).values == {"items": ["a", "b"]}
        assert {stored.config["configurable"]["checkpoint_ns"] for stored in saver.list(None)} == {
            ""
        }


@pytest.mark.parametrize("api", ["sync", "async"])
def test_a_worker_that_a_node_forked_is_told_that_its_chunks_reach_nobody(api: str) -> None:
    def node(state: Any) -> Any:
        writer = get_stream_writer()

        def work() -> str:
            with pytest.raises(ConfigError, match="forked while task 'node' ran"):
                writer("from the child")
            return "told"

        writer("from the node")
        return {"items": [in_a_child(work)]}

    async def read() -> Any:
        return [part async for part in graph.astream(given, stream_mode=modes)]

    graph, given, modes = chain(None, ("node", node)), {"items": []}, ["custom", "values"]
    parts = list(graph.stream(given, stream_mode=modes)) if api == "sync" else asyncio.run(read())
    assert ("custom", "from the node") in parts
    assert parts[-1] == ("values", {"items": ["told"]})


def held(path: Path, start: Callable[..., Child]) -> Child:
    """A process that is in a transaction of a file until it hears a signal."""

    def hold(tell: Callable[[str], Any]) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        conn = sqlite3.connect(path, isolation_level=None)
        conn.execute("BEGIN IMMEDIATE")
        tell("held")
        signal.sigwait([signal.SIGUSR1])
        conn.execute("ROLLBACK")
        conn.close()

    holder = start(hold)
    assert holder.hear() == "held"
    return holder


@pytest.mark.parametrize("what", ["saver", "store"])
def test_a_fork_comes_between_two_looks_of_a_thread_that_waits_for_another_process(
    tmp_path: Path, what: str, start: Callable[..., Child]
) -> None:
    path = tmp_path / "kept.db"
    opened: Any = SqliteSaver(path) if what == "saver" else SqliteStore(path)

    def keep(key: str) -> None:
        if what == "saver":
            line(opened).invoke({"items": []}, config(key))
        else:
            opened.put(("items",), key, {"kept": True})

    keep("before")
    holder = held(path, start)
    waiting = threading.Thread(target=keep, args=("waited",))
    waiting.start()
    lock = opened._database._lock
    while lock.acquire(timeout=0.2):  # until the thread has it, and waits
        lock.release()

    def work(tell: Callable[[str], Any]) -> None:
        holder.signal(signal.SIGUSR1)
        keep("child")
        tell("kept")
        signal.sigwait([signal.SIGUSR2])
        keep("child, later")  # had it no locks, its parent would have deleted the log

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    try:
        child = start(work)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])
    assert child.hear() == "kept"
    waiting.join()
    opened.close()
    child.signal(signal.SIGUSR2)
    assert child.wait() == 0
    if what == "saver":
        with SqliteSaver(path) as saver:
            keys = {each.config["configurable"]["thread_id"] for each in saver.list(None)}
    else:
        with SqliteStore(path) as store:
            keys = {item.key for item in store.search(("items",))}
    assert keys == {"before", "waited", "child", "child, later"}


def test_a_child_that_cannot_lock_a_file_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.01)
    with SqliteSaver(tmp_path / "used.db") as used, SqliteSaver(tmp_path / "idle.db") as idle:
        line(used).invoke({"items": []}, config(1))

        def work() -> str:
            line(idle).invoke({"items": []}, config("child"))
            for saver in (used, SqliteSaver(tmp_path / "used.db")):
                with pytest.raises(StorageUnavailableError, match=r"forked while .* a transaction"):
                    line(saver).invoke({"items": []}, config(1))
            return "told"

        held = used._database._lock
        assert while_held(held, work) == "told"
        assert while_held(held, lambda: in_a_child(work)) == "told", "a child of the child"
        assert len(line(used).invoke({"items": []}, config(1))["items"]) == 4
        assert line(idle).get_state(config("child")).values["items"]


def test_a_connection_that_two_were_given_does_not_keep_a_process_from_forking(
    tmp_path: Path,
) -> None:
    given = sqlite3.connect(tmp_path / "given.db", check_same_thread=False)
    given.execute("PRAGMA journal_mode = DELETE")
    graph, store = line(SqliteSaver(given)), SqliteStore(given)

    def go_on() -> str:
        store.put(("items",), "k", {"of": os.getpid()})
        return " ".join(graph.invoke({"items": []}, config(1))["items"])

    assert go_on() == "a b"
    assert in_a_child(go_on) == "a b a b"
    item = store.get(("items",), "k")
    assert item is not None
    assert item.value != {"of": os.getpid()}
    assert go_on() == "a b a b a b"


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_locks_of_a_connection_that_was_given_are_not_taken_for_those_of_a_child(
    tmp_path: Path, journal: str
) -> None:
    path = tmp_path / "given.db"
    given = sqlite3.connect(path, check_same_thread=False)
    given.execute(f"PRAGMA journal_mode = {journal}")
    graph = line(SqliteSaver(given))
    graph.invoke({"items": []}, config(1))

    def go_on() -> str:
        return str(len(graph.invoke({"items": []}, config(1))["items"]))

    def refused() -> str:
        with pytest.raises(StorageUnavailableError, match="Give savers and stores the path"):
            go_on()
        return "refused"

    # A log belongs to who has it open, for as long as it is.
    assert in_a_child(refused if journal == "wal" else go_on) in ("refused", "4")
    given.execute("BEGIN")
    assert in_a_child(refused) == "refused"
    given.commit()
    assert go_on() in ("4", "6")
    given.close()
