"""Where a SQLite saver's file lies: it stays the same one, or its saver says that it is gone."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from plait.cache.sqlite import SqliteCache
from plait.chat_history.sqlite import SQLiteChatMessageHistory
from plait.checkpoint.base import empty_checkpoint, new_checkpoint_id
from plait.checkpoint.log.requests import Renew
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import StorageUnavailableError
from plait.messages import HumanMessage
from plait.store.sqlite import SqliteStore

from .graphs import chain, config, line


@pytest.mark.parametrize("given", ["threads.db", "file:threads.db", "file:threads.db?mode=rwc"])
def test_a_relative_path_means_the_same_file_after_the_program_changed_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    monkeypatch.chdir(before)
    with SqliteSaver(given) as saver:
        graph = line(saver)
        graph.invoke({"items": []}, config("1"))
        monkeypatch.chdir(after)

        async def many() -> None:
            for _ in range(3):  # the first ones have the worker open the loop's own connection
                await asyncio.gather(*[graph.ainvoke({"items": []}, config(n)) for n in "123"])

        asyncio.run(many())
        saver._renewer().open()
    assert not [*after.iterdir()]
    with SqliteSaver(before / "threads.db") as found:
        assert len(line(found).get_state(config("3")).values["items"]) == 6


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_was_deleted_or_replaced_acknowledges_nothing(
    tmp_path: Path, replaced: bool
) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver:
        graph = line(saver)
        graph.invoke({"items": []}, config("1"))
        for each in tmp_path.iterdir():
            each.unlink()
        if replaced:
            with SqliteSaver(path) as other:
                line(other).invoke({"items": []}, config("other"))
        for run in (graph.invoke, lambda *given: asyncio.run(graph.ainvoke(*given))):
            with pytest.raises(StorageUnavailableError, match="deleted or replaced"):
                run({"items": []}, config("2"))
        assert asyncio.run(crowd(graph)) == [StorageUnavailableError] * 8
    with SqliteSaver(path) as again:
        assert line(again).invoke({"items": []}, config("2")) == {"items": ["a", "b"]}


async def crowd(graph: Any) -> list[type]:
    """What runs at the same time, whose commits share transactions, end with."""
    runs = (graph.ainvoke({"items": []}, config(f"of many {n}")) for n in range(8))
    return [*map(type, await asyncio.gather(*runs, return_exceptions=True))]


CALLS: dict[str, Callable[[Any], Any]] = {
    "get_state": lambda graph: graph.get_state(config("1")),
    "history": lambda graph: next(graph.get_state_history(config("1")), None),
    "update_state": lambda graph: graph.update_state(config("1"), {"items": ["x"]}),
    "list": lambda graph: next(graph.checkpointer.list(None), None),
    "put": lambda graph: graph.checkpointer.put(config("1"), empty_checkpoint(), {}, {}),
    "put_writes": lambda graph: graph.checkpointer.put_writes(AT, [("items", ["x"])], "task"),
    "usage": lambda graph: graph.checkpointer.usage("1"),
    "prune": lambda graph: graph.checkpointer.prune(["1"]),
    "copy": lambda graph: graph.checkpointer.copy_thread("1", "2"),
    "delete": lambda graph: graph.checkpointer.delete_thread("1"),
    "sweep": lambda graph: graph.checkpointer.sweep(ttl=1),
    "renew": lambda graph: graph.checkpointer.renew(Renew([(1, 1)], 1.0)),
}
AT: Any = {"configurable": {"thread_id": "1", "checkpoint_id": new_checkpoint_id()}}


def taken_away(path: Path, replaced: bool) -> None:
    """The file is deleted with what lies beside it; `replaced`: by another one."""
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    if replaced:
        with SqliteSaver(path) as other:
            line(other).invoke({"items": ["other"]}, config("1"))


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_read_from_or_written_to_a_file_in_the_place_of_the_one_that_was_opened(
    tmp_path: Path, name: str, replaced: bool
) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver:
        graph = line(saver)
        graph.invoke({"items": []}, config("1"))
        taken_away(path, replaced)
        with pytest.raises(StorageUnavailableError, match="deleted or replaced"):
            CALLS[name](graph)
        assert path.exists() == replaced


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("api", ["sync", "async"])
def test_a_run_whose_file_is_taken_away_ends_with_an_error_at_its_next_commit(
    tmp_path: Path, api: str, replaced: bool
) -> None:
    path = tmp_path / "threads.db"
    ran: list[str] = []

    def takes(state: Any) -> dict[str, Any]:
        taken_away(path, replaced)
        return {"items": ["a"]}

    with SqliteSaver(path) as saver:
        graph = chain(saver, ("a", takes), ("b", lambda state: ran.append("b")))
        run = graph.invoke if api == "sync" else lambda *given: asyncio.run(graph.ainvoke(*given))
        with pytest.raises(StorageUnavailableError, match="deleted or replaced"):
            run({"items": []}, config("1"))
    assert not ran


@pytest.mark.parametrize("uri", [False, True])
def test_a_link_that_comes_to_lead_elsewhere_leads_to_no_other_file(
    tmp_path: Path, uri: bool
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    link = tmp_path / "current"
    link.symlink_to("old")
    with SqliteSaver(f"file:{link}/threads.db?mode=rwc" if uri else link / "threads.db") as saver:
        graph = line(saver)
        graph.invoke({"items": []}, config("1"))
        link.unlink()
        link.symlink_to("new")
        pid = os.fork()  # which closes connections
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        assert graph.invoke({"items": []}, config("1")) == {"items": ["a", "b"] * 2}
        for _ in range(3):  # the first ones have the worker open the loop's own connection
            asyncio.run(graph.ainvoke({"items": []}, config("1")))
        saver._renewer().open()
    assert not [*(tmp_path / "new").iterdir()]


def opened_elsewhere(path: Path) -> None:
    """Another program opens the database, looks into it, and closes it."""
    looks = (
        "import sqlite3, sys; conn = sqlite3.connect(sys.argv[1]); "
        "conn.execute('SELECT count(*) FROM sqlite_schema').fetchone(); conn.close()"
    )
    subprocess.run([sys.executable, "-c", looks, str(path)], check=True)


KEEPS_LOCKS = sqlite3.sqlite_version_info >= (3, 51)
"""Whether SQLite has its locks in spite of a plain file that the program closes."""


@pytest.mark.parametrize("api", ["sync", "async"])
def test_a_program_that_reads_its_database_as_a_plain_file_loses_nothing_unheard(
    tmp_path: Path, api: str
) -> None:
    path, ran = tmp_path / "threads.db", [""]

    def lost(state: Any) -> dict[str, Any]:
        if state["items"] and ran == [""]:
            path.read_bytes()  # ends the locks of this process, when the plain file is closed
            opened_elsewhere(path)
        ran.append("lost")
        return {"items": ["a"]}

    def run(saver: SqliteSaver) -> Any:
        graph = chain(saver, ("a", lost), ("b", lambda state: ran.append("b")))
        if api == "sync":
            return graph.invoke({"items": ["in"]}, config("1"))
        return asyncio.run(graph.ainvoke({"items": ["in"]}, config("1")))

    with SqliteSaver(path) as saver:
        if KEEPS_LOCKS:  # the log stays where it is
            stored = run(saver)["items"]
        else:
            stored = ["in"]
            for _ in range(2):
                with pytest.raises(StorageUnavailableError, match=r"log .* deleted .*\.backup"):
                    run(saver)
            assert "b" not in ran
    with SqliteSaver(path) as again:
        assert run(again)["items"] == [*stored, "in", "a"]


def test_what_a_deleted_log_holds_is_kept_when_the_saver_or_store_is_closed(
    tmp_path: Path,
) -> None:
    threads, items = tmp_path / "threads.db", tmp_path / "items.db"
    with SqliteSaver(threads) as saver, SqliteStore(items) as store:
        graph = line(saver)
        graph.invoke({"items": []}, config("1"))
        store.put(("n",), "k", {"v": 1})
        for each in tmp_path.glob("*-wal"):
            each.unlink()
        for call in (lambda: store.get(("n",), "k"), lambda: graph.get_state(config("1"))):
            with pytest.raises(StorageUnavailableError, match="log of SQLite database"):
                call()
    with SqliteSaver(threads) as saver, SqliteStore(items) as store:
        assert line(saver).get_state(config("1")).values == {"items": ["a", "b"]}
        found = store.get(("n",), "k")
        assert found is not None
        assert found.value == {"v": 1}


@pytest.mark.parametrize("left", [0, 32, 10_000, 4120 * 8 + 32])
@pytest.mark.parametrize("api", ["sync", "async"])
def test_a_log_that_was_cut_short_acknowledges_nothing(tmp_path: Path, left: int, api: str) -> None:
    path = tmp_path / "threads.db"
    saver, store = SqliteSaver(path), SqliteStore(path)
    graph = line(saver)

    def run(thread: str) -> None:
        if api == "async":
            asyncio.run(graph.ainvoke({"items": []}, config(thread)))
        else:
            graph.invoke({"items": []}, config(thread))

    store.put(("a",), "k", {})
    for thread in "123":
        run(thread)
    saver._renewer().open()
    os.truncate(f"{path}-wal", left)
    for _ in range(2):
        with pytest.raises(StorageUnavailableError, match="cut short"):
            run("4")
        with pytest.raises(StorageUnavailableError, match="cut short"):
            graph.get_state(config("1"))
        with pytest.raises(StorageUnavailableError, match="cut short"):
            store.put(("a",), "k", {})
    saver.close()
    store.close()


@pytest.mark.parametrize("how", ["wal_checkpoint(TRUNCATE)", "journal_size_limit = 8192"])
def test_a_log_that_sqlite_itself_cuts_short_is_no_cause_for_alarm(
    tmp_path: Path, how: str
) -> None:
    path = tmp_path / "threads.db"
    sizes: list[int] = []
    with SqliteSaver(path) as saver, sqlite3.connect(path, isolation_level=None) as other:
        graph = line(saver)
        for number in range(60):
            graph.invoke({"items": []}, config(str(number)))
            sizes.append(Path(f"{path}-wal").stat().st_size)
            if number % 7 == 3:
                other.execute(f"PRAGMA {how}").fetchall()
                other.execute("PRAGMA wal_checkpoint").fetchall()
                other.execute("CREATE TABLE IF NOT EXISTS theirs (x)")
                other.execute("INSERT INTO theirs VALUES (1)")
        assert sizes != sorted(sizes), "the log became shorter"
        for number in range(60):
            assert len(graph.get_state(config(str(number))).values["items"]) == 2
    other.close()


def test_a_file_that_was_emptied_acknowledges_nothing(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver:
        graph = line(saver)
        graph.invoke({"items": []}, config("1"))
        os.truncate(path, 0)
        for run in (graph.invoke, lambda *given: asyncio.run(graph.ainvoke(*given))):
            with pytest.raises(StorageUnavailableError, match="was emptied"):
                run({"items": []}, config("2"))


@contextmanager
def as_nobody() -> Iterator[Path]:
    """Work as somebody who may not write all files, in a folder of his own."""
    with tempfile.TemporaryDirectory() as name:
        root = os.geteuid() == 0
        if root:
            os.chown(name, 65534, -1)
            os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            if root:
                os.seteuid(0)


def test_a_file_that_may_be_written_again_is_written_by_the_same_saver() -> None:
    with as_nobody() as folder:
        path = folder / "threads.db"
        with SqliteSaver(path) as saver:
            line(saver).invoke({"items": []}, config("1"))
        path.chmod(0o400)
        with SqliteSaver(path) as saver:
            graph = line(saver)
            assert graph.get_state(config("1")).values == {"items": ["a", "b"]}
            with pytest.raises(StorageUnavailableError, match="may only be read"):
                graph.update_state(config("1"), {"items": ["c"]})
            for each in folder.iterdir():
                each.chmod(0o600)
            graph.update_state(config("1"), {"items": ["c"]})
            assert graph.get_state(config("1")).values == {"items": ["a", "b", "c"]}


def test_a_copy_by_sqlite_of_an_open_file_is_whole_and_has_a_life_of_its_own(
    tmp_path: Path,
) -> None:
    path, copy = tmp_path / "threads.db", tmp_path / "copy.db"

    def copies(state: Any) -> None:
        if not copy.exists():
            with sqlite3.connect(path) as here, sqlite3.connect(copy) as there:
                here.backup(there)
            here.close()
            there.close()

    with SqliteSaver(path) as saver:
        graph = chain(saver, ("a", copies), ("b", lambda state: {"items": ["b"]}))
        assert graph.invoke({"items": ["in"]}, config("1")) == {"items": ["in", "b"]}
        shutil.copyfile(copy, tmp_path / "again.db")
        with SqliteSaver(tmp_path / "again.db") as other:
            there = chain(other, ("a", copies), ("b", lambda state: {"items": ["b"]}))
            assert there.get_state(config("1")).next == ("a",)
            assert there.invoke(None, config("1")) == {"items": ["in", "b"]}
        assert len(graph.invoke({"items": []}, config("1"))["items"]) == 3


def test_a_connection_that_a_fork_closed_does_not_make_another_file(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver:
        line(saver).invoke({"items": []}, config("1"))
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        taken_away(path, False)
        with pytest.raises(StorageUnavailableError, match="deleted or replaced"):
            line(saver).get_state(config("1"))
        assert not path.exists()


def test_items_and_messages_are_not_put_into_a_file_that_is_gone(tmp_path: Path) -> None:
    with (
        SqliteStore(tmp_path / "items.db") as store,
        SQLiteChatMessageHistory("1", tmp_path / "messages.db") as history,
        SqliteCache(path=str(tmp_path / "cache.db")) as cache,
    ):
        store.put(("n",), "k", {"v": 1})
        history.add_messages([HumanMessage("hi")])
        cache.set({(("n",), "k"): (1, None)})
        for each in tmp_path.iterdir():
            each.unlink()
        with pytest.raises(StorageUnavailableError, match="deleted or replaced"):
            store.put(("n",), "k", {"v": 2})
        with pytest.raises(StorageUnavailableError, match="deleted or replaced"):
            store.get(("n",), "k")
        with pytest.raises(StorageUnavailableError, match="deleted or replaced"):
            history.add_messages([HumanMessage("lost")])
        assert cache.get([(("n",), "k")]) == {(("n",), "k"): 1}, "of a cache, nothing need last"


@pytest.mark.parametrize(
    "path", [":memory:", "file::memory:", "file::memory:?cache=shared", "file:m?mode=memory"]
)
def test_a_database_in_memory_is_one_for_sync_and_async_runs(path: str) -> None:
    with SqliteSaver(path) as saver:
        graph = line(saver)
        graph.invoke({"items": []}, config("1"))
        for _ in range(3):
            done = asyncio.run(graph.ainvoke({"items": []}, config("1")))
        assert done["items"] == ["a", "b"] * 4
        assert not saver.shared


def test_a_connection_with_a_transaction_open_is_named_and_left_alone(tmp_path: Path) -> None:
    conn = sqlite3.connect(tmp_path / "threads.db", check_same_thread=False)
    graph = line(SqliteSaver(conn))
    graph.checkpointer.setup()
    conn.execute("CREATE TABLE mine (a)")
    conn.execute("INSERT INTO mine VALUES (1)")
    with pytest.raises(StorageUnavailableError, match="transaction open"):
        graph.invoke({"items": []}, config("1"))
    assert conn.in_transaction
    conn.commit()
    assert graph.invoke({"items": []}, config("1")) == {"items": ["a", "b"]}
    conn.close()


def test_a_connection_that_its_maker_closed_is_named(tmp_path: Path) -> None:
    conn = sqlite3.connect(tmp_path / "threads.db", check_same_thread=False)
    graph = chain(SqliteSaver(conn), ("a", lambda state: conn.close()))
    with pytest.raises(StorageUnavailableError, match="closed by its maker"):
        graph.invoke({"items": []}, config("1"))


def test_a_connection_for_one_thread_is_named(tmp_path: Path) -> None:
    conn = sqlite3.connect(tmp_path / "threads.db")
    graph = line(SqliteSaver(conn))
    with pytest.raises(StorageUnavailableError, match="check_same_thread=False"):
        asyncio.run(graph.ainvoke({"items": []}, config("1")))
    conn.close()


@pytest.mark.parametrize("version", [0, 1, 3])
def test_tables_of_another_program_are_named(tmp_path: Path, version: int) -> None:
    conn = sqlite3.connect(tmp_path / "other.db")
    conn.execute("CREATE TABLE checkpoints (other)")
    conn.execute(f"PRAGMA user_version = {version}")
    conn.close()
    with (
        SqliteSaver(tmp_path / "other.db") as saver,
        pytest.raises(StorageUnavailableError, match="import-langgraph"),
    ):
        line(saver).invoke({"items": []}, config("1"))


def test_a_file_that_may_only_be_read_says_so(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE other (a)").connection.close()
    with (
        SqliteSaver(f"file:{tmp_path}/empty.db?mode=ro") as saver,
        pytest.raises(StorageUnavailableError, match="may only be read"),
    ):
        line(saver).get_state(config("1"))


def test_the_name_of_a_file_may_be_any_bytes(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/%41 ?#.db")
    with SqliteSaver(path) as saver:
        assert line(saver).invoke({"items": []}, config("1")) == {"items": ["a", "b"]}
    assert Path(path).exists()
