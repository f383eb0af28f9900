"""The SQLite store itself: its file, its statements, its neighbours, what it refuses."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import (
    CorruptCheckpointError,
    InvalidNamespaceError,
    InvalidStoreOpError,
    StorageUnavailableError,
    UnregisteredTypeError,
)
from plait.graph import START, StateGraph
from plait.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp
from plait.store.base.sweeper import Sweeper
from plait.store.memory import InMemoryStore
from plait.store.sqlite import SqliteStore
from plait.store.sqlite.aio import AsyncSqliteStore
from plait.store.sqlite.rows import SCHEMA, SQL
from plait.testing.stores import HOSTILE
from plait.types import Send


def test_a_file_outlives_its_store_and_is_opened_on_first_use(tmp_path: Path) -> None:
    path = tmp_path / "items.db"
    with SqliteStore(path) as store:
        assert not path.exists()
        store.put(("u",), "k", {"v": 1})
    with SqliteStore(path) as store:
        found = store.get(("u",), "k")
        assert found is not None
        assert found.value == {"v": 1}
    with sqlite3.connect(path) as conn:
        assert conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "items.db")
    store.close()
    with pytest.raises(StorageUnavailableError, match="closed"):
        store.get(("u",), "k")


def test_values_come_back_as_they_were() -> None:
    value = {"tuple": (1, 2), "set": {1}, "when": datetime(2026, 1, 1, tzinfo=UTC), "big": 2**70}
    with SqliteStore(":memory:") as store:
        store.put(("u",), "k", value)
        found = store.get(("u",), "k")
        assert found is not None
        assert found.value == value


def test_a_value_that_cannot_be_stored_stops_the_whole_batch() -> None:
    with SqliteStore(":memory:") as store:
        with pytest.raises(UnregisteredTypeError) as caught:
            store.batch([PutOp(("u",), "a", {"v": 1}), PutOp(("u",), "b", {"v": object()})])
        assert "'b' of ('u',)" in caught.value.__notes__[0]
        assert store.search(()) == []


def test_threads_and_items_live_in_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "all.db")
    for first in (SqliteSaver, SqliteStore):  # whichever opens the file first
        with first(path) as opened:
            opened.setup()
    with SqliteSaver(path) as saver, SqliteStore(path) as store:

        def node(state: dict[str, Any], *, store: SqliteStore) -> dict[str, Any]:
            store.put(("seen",), state["x"], {"v": 1})
            return {"x": state["x"] + "!"}

        builder = StateGraph(dict).add_node("n", node).add_edge(START, "n")
        graph = builder.compile(checkpointer=saver, store=store)
        assert graph.invoke({"x": "a"}, {"configurable": {"thread_id": "1"}}) == {"x": "a!"}
        assert [item.key for item in store.search(("seen",))] == ["a"]


def test_a_saver_and_a_store_take_turns_on_a_connection_that_both_were_given(
    tmp_path: Path,
) -> None:
    conn = sqlite3.connect(tmp_path / "all.db", check_same_thread=False)
    saver, store = SqliteSaver(conn), SqliteStore(conn)

    def node(number: int) -> None:
        store.put(("seen",), str(number), {"v": number})

    builder = StateGraph(dict).add_node("n", node)
    builder.add_conditional_edges(START, lambda _: [Send("n", n) for n in range(40)], ["n"])
    graph = builder.compile(checkpointer=saver)
    for thread in "ab":
        graph.invoke({"x": 1}, {"configurable": {"thread_id": thread}})
    assert len(store.search(("seen",), limit=-1)) == 40
    conn.close()


def test_a_database_of_a_newer_plait_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.db"
    with SqliteStore(path) as store:
        store.setup()
    with sqlite3.connect(path) as conn:
        newer = SCHEMA.migrations[-1][0] + 1
        conn.execute("UPDATE schema_versions SET version = ?", (newer,))
    with SqliteStore(path) as store, pytest.raises(StorageUnavailableError, match="newer plait"):
        store.setup()


def test_a_record_moved_to_another_tenant_does_not_open(tmp_path: Path) -> None:
    path = tmp_path / "items.db"
    with SqliteStore(path) as store:
        store.put(("acme",), "k", {"v": "secret"})
        store.put(("other",), "k", {"v": "own"})
        with sqlite3.connect(path) as conn:
            conn.execute("UPDATE items SET value = (SELECT value FROM items WHERE id = 1)")
        found = store.get(("acme",), "k")
        assert found is not None
        with pytest.raises(CorruptCheckpointError):
            store.get(("other",), "k")
        with pytest.raises(CorruptCheckpointError):
            store.search(("other",), filter={"v": "secret"})
        with pytest.raises(CorruptCheckpointError):
            store.batch([GetOp(("acme",), "k"), GetOp(("other",), "k")])


def test_the_text_of_sql_is_constant() -> None:
    known = {*SQL.all().values(), "BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"}
    seen: list[str] = []

    class Watched(sqlite3.Connection):
        def cursor(self, *args: Any, **kwargs: Any) -> Any:
            return super().cursor(WatchedCursor)

        def execute(self, sql: str, *args: Any) -> Any:
            seen.append(sql)
            return super().execute(sql, *args)

        def executemany(self, sql: str, *args: Any) -> Any:
            seen.append(sql)
            return super().executemany(sql, *args)

    class WatchedCursor(sqlite3.Cursor):
        def execute(self, sql: str, *args: Any) -> Any:
            seen.append(sql)
            return super().execute(sql, *args)

    conn = sqlite3.connect(":memory:", check_same_thread=False, factory=Watched)
    index: Any = {"dims": 1, "embed": lambda texts: [[1.0] for _ in texts]}
    with SqliteStore(conn, index=index) as store:
        store.setup()
        seen.clear()
        for text in HOSTILE:
            store.put((text, text), text, {text: text}, ttl=-1)
            store.get((text, text), text)
            store.search((text,), filter={text: text, "n": {"$gt": text}}, limit=3, offset=1)
            store.search((text,), filter={text: text, "n": text})
            store.search((text,), query=text)
            store.batch([GetOp((text,), text), SearchOp((text,), {text: text})])
            store.list_namespaces(prefix=(text,), suffix=(text,))
            store.delete((text, text), text + "x")
        assert store.sweep_ttl() == len(HOSTILE)
    conn.close()
    assert seen
    assert set(seen) <= known


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    errors: list[BaseException] = []
    with SqliteStore(tmp_path / "items.db") as store:

        def work(n: int) -> None:
            try:
                for i in range(20):
                    store.put(("t", str(n)), str(i), {"i": i})
                    store.search(("t",), limit=5)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(store.search(("t",), limit=-1)) == 120


WRITER = """
import sys
from plait.store.sqlite import SqliteStore
with SqliteStore(sys.argv[1]) as store:
    for i in range(50):
        store.put(("p", sys.argv[2]), str(i), {"i": i})
"""


def test_many_processes_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "items.db")
    command = [sys.executable, "-c", WRITER, path]
    writers = [subprocess.Popen([*command, str(n)]) for n in range(4)]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 4
    with SqliteStore(path) as store:
        assert len(store.search(("p",), limit=-1)) == 200
        assert len(store.list_namespaces(prefix=("p",))) == 4


async def test_one_store_serves_sync_and_async_calls() -> None:
    with SqliteStore(":memory:") as store:
        store.put(("u",), "a", {"v": 1})
        await asyncio.gather(*(store.aput(("u",), str(i), {"v": i}) for i in range(20)))
        assert len(await store.asearch(("u",), limit=-1)) == 21
        assert len(store.search(("u",), limit=-1)) == 21


def test_a_store_that_is_let_go_leaves_no_thread() -> None:
    before = {*threading.enumerate()}
    store = SqliteStore(":memory:")
    asyncio.run(store.aput(("u",), "k", {"v": 1}))
    (thread,) = [
        one for one in threading.enumerate() if one.name == "plait-store" and one not in before
    ]
    del store
    gc.collect()
    thread.join(20)
    assert not thread.is_alive()


def test_the_newest_item_is_found_first() -> None:
    with SqliteStore(":memory:") as store:
        for key in "abc":
            store.put(("u",), key, {"v": 1})
        store.put(("u",), "a", {"v": 2})
        assert [item.key for item in store.search(("u",))] == ["a", "c", "b"]
        item = store.get(("u",), "a")
        assert item is not None
        assert item.created_at < item.updated_at


def test_reading_an_item_begins_its_life_anew() -> None:
    def expiry(store: SqliteStore, conn: sqlite3.Connection, **options: Any) -> bool:
        conn.execute("UPDATE items SET expires = 0")
        store.get(("u",), "k", **options)
        return conn.execute("SELECT expires FROM items").fetchone()[0] > 0

    for ttl, default in (({"refresh_on_read": False}, False), ({"refresh_on_read": True}, True)):
        conn = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        with SqliteStore(conn, ttl=ttl) as store:  # type: ignore[arg-type]
            store.put(("u",), "k", {"v": 1}, ttl=5)
            assert expiry(store, conn) is default
            assert expiry(store, conn, refresh_ttl=True)
            assert not expiry(store, conn, refresh_ttl=False)
        conn.close()


def test_expired_items_can_be_passed_over() -> None:
    with SqliteStore(":memory:", ttl={"omit_expired": True}) as store:
        store.put(("u",), "past", {"v": 1}, ttl=-1)
        store.put(("u",), "later", {"v": 1}, ttl=1)
        store.put(("a",), "past", {"v": 1}, ttl=-1)
        store.put(("v",), "past", {"v": 1}, ttl=-1)
        assert store.get(("u",), "past") is None
        assert [item.key for item in store.search(("u",))] == ["later"]
        assert store.list_namespaces() == [("u",)]


def test_sweeping_takes_the_vectors_along() -> None:
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    index: Any = {"dims": 1, "embed": lambda texts: [[1.0] for _ in texts]}
    with SqliteStore(conn, index=index) as store:
        store.put(("u",), "past", {"v": 1}, ttl=-1)
        store.put(("u",), "gone", {"v": 1})
        store.delete(("u",), "gone")
        assert store.sweep_ttl() == 1
    assert conn.execute("SELECT COUNT(*) FROM item_vectors").fetchone() == (0,)
    conn.close()


def test_the_sweeper_goes_on_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[int] = []
    twice = threading.Event()

    def sweep() -> int:
        calls.append(1)
        if len(calls) == 2:
            twice.set()
        raise RuntimeError("disk")

    sweeper = Sweeper(sweep)
    assert sweeper.stop(), "it has not begun"
    with caplog.at_level(logging.ERROR):
        ended = sweeper.start(0.001)
        assert sweeper.start(0.001) is ended
        assert twice.wait(30)
        assert sweeper.stop(30)
    assert ended.done()
    assert "could not be deleted" in caplog.text


async def test_the_async_sweeper_sweeps_until_it_is_stopped() -> None:
    async with AsyncSqliteStore.from_conn_string(":memory:", ttl={"default_ttl": -1}) as store:
        await store.aput(("u",), "k", {"v": 1})
        task = await store.start_ttl_sweeper(0.0001)
        while await store.asearch(("u",)):
            await asyncio.sleep(0)
        assert not task.done()
        assert await store.start_ttl_sweeper() is task
        assert await store.stop_ttl_sweeper()
        assert task.done()
        assert await store.stop_ttl_sweeper(), "there is none any more"
        last = await store.start_ttl_sweeper()
    assert last.cancelled(), "it ends with the store"


async def test_the_async_sweeper_goes_on_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(AsyncSqliteStore):
        sweeps = 0

        async def sweep_ttl(self) -> int:
            self.sweeps += 1
            raise RuntimeError("disk")

    async with Failing(":memory:", ttl={"default_ttl": 1}) as store:
        with caplog.at_level(logging.ERROR):
            task = await store.start_ttl_sweeper(0.0001)
            while store.sweeps < 2:
                assert not task.done()
                await asyncio.sleep(0)
        assert await store.stop_ttl_sweeper()
    assert "could not be deleted" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_uses_the_store_it_inherited(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "items.db") as store:
        store.put(("u",), "parent", {"v": 1})
        pid = os.fork()
        if pid == 0:
            try:
                store.put(("u",), "child", {"v": 1})
            finally:
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert {item.key for item in store.search(("u",))} == {"parent", "child"}


@pytest.mark.parametrize("wrong", [5, [1], "text", b"x"])
def test_values_that_are_no_dicts_are_refused(wrong: Any) -> None:
    with SqliteStore(":memory:") as sqlite:
        for store in (InMemoryStore(), sqlite):
            with pytest.raises(InvalidStoreOpError, match="dict"):
                store.put(("u",), "k", wrong)


WRONG: list[tuple[Any, type[Exception], str]] = [
    ("get", InvalidStoreOpError, "operation"),
    (PutOp(("u",), "k", {}, ttl="soon"), InvalidStoreOpError, "minutes"),  # type: ignore[arg-type]
    (PutOp(("u",), "k", {}, ttl=True), InvalidStoreOpError, "minutes"),
    (PutOp("u", "k", {}), InvalidNamespaceError, "tuple of labels"),  # type: ignore[arg-type]
    (GetOp("u", "k"), InvalidNamespaceError, r"tuple of labels.*\('u',\)"),  # type: ignore[arg-type]
    (GetOp(5, "k"), InvalidNamespaceError, r"labels, not 5\. Write \('users'"),  # type: ignore[arg-type]
    (GetOp(("u",), "\udc80"), InvalidStoreOpError, "no valid text"),
]


@pytest.mark.parametrize(("op", "error", "told"), WRONG, ids=str)
def test_what_is_no_operation_is_refused(op: Any, error: type[Exception], told: str) -> None:
    with SqliteStore(":memory:") as sqlite:
        for store in (InMemoryStore(), sqlite):
            with pytest.raises(error, match=told):
                store.batch([op])


def test_an_operation_may_list_namespaces_without_conditions() -> None:
    with SqliteStore(":memory:") as sqlite:
        for store in (InMemoryStore(), sqlite):
            store.put(("u", "v"), "k", {})
            assert store.batch([ListNamespacesOp()]) == [[("u", "v")]]


def test_a_store_needs_no_setup_but_may_have_one() -> None:
    with SqliteStore(":memory:") as store:
        store.setup()
        store.setup()
        store.put(("u",), "k", {"v": 1})
        assert store.get(("u",), "k").value == {"v": 1}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_odd_limits_labels_and_lives_mean_the_same_in_every_store(kind: str) -> None:
    store: Any = InMemoryStore() if kind == "memory" else SqliteStore(":memory:")
    for key in "ab":
        store.put(("u", key), key, {"v": 1})
    huge = 10**30
    assert len(store.search(("u",), limit=huge)) == 2
    assert store.search(("u",), offset=huge, limit=huge) == []
    assert len(store.list_namespaces(limit=huge)) == 2
    assert len(store.search((), limit=True)) == 1
    for odd in (1.0, "1", None, [], float("nan")):
        for call in (store.search, store.list_namespaces):
            given: Any = (("u",),) if call == store.search else ()
            with pytest.raises(InvalidStoreOpError, match="limit"):
                call(*given, limit=odd)
            with pytest.raises(InvalidStoreOpError, match="offset"):
                call(*given, offset=odd)
    for odd in (1.0, "1", []):
        with pytest.raises(InvalidStoreOpError, match="max_depth"):
            store.list_namespaces(max_depth=odd)
    for label in ({}, []):
        for call in (store.get, store.delete):
            with pytest.raises(InvalidNamespaceError):
                call((label,), "k")
        with pytest.raises(InvalidNamespaceError):
            store.search((label,))


@pytest.mark.parametrize("ttl", [float("nan"), 10**400])
def test_a_life_that_no_clock_measures_is_refused(ttl: Any) -> None:
    with SqliteStore(":memory:") as store, pytest.raises(InvalidStoreOpError, match="ttl"):
        store.put(("u",), "k", {"v": 1}, ttl=ttl)
