"""A process forks while its threads are at work: in the child, nothing waits for them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plait.cache.memory import InMemoryCache
from plait.callbacks import BaseCallbackHandler
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.config import get_stream_writer
from plait.drivers.env import SYSTEM
from plait.errors import ConfigError
from plait.ids import new_id
from plait.store.memory import InMemoryStore
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
