"""The SQLite file itself: opening, sharing, forking, failing."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from plait.checkpoint.base import new_checkpoint_id
from plait.checkpoint.base.port import NewCheckpoint
from plait.checkpoint.log.requests import ListLanes
from plait.checkpoint.sqlite import SqliteSaver
from plait.checkpoint.sqlite.aio import AsyncSqliteSaver
from plait.checkpoint.sqlite.rows import SCHEMA
from plait.errors import ConfigError, CorruptCheckpointError, StorageUnavailableError
from plait.sqlite import Database
from plait.store.sqlite import SqliteStore
from plait.testing.processes import fork

TS = "2026-01-01T00:00:00.000000+00:00"


def checkpoint(parent: str | None = None, **values: Any) -> NewCheckpoint:
    return NewCheckpoint(new_checkpoint_id(), parent, TS, {}, {}, values)


def store(saver: SqliteSaver, thread: str, **values: Any) -> None:
    session = saver.open_session(thread)
    saver.run(session.commit(checkpoint(**values), claim=True, release=True))


def read(saver: SqliteSaver, thread: str) -> Any:
    found = saver.run(saver.open_session(thread).load())
    return found and found.values


def test_one_object_serves_with_and_async_with(tmp_path: Path) -> None:
    path = str(tmp_path / "log.db")
    with SqliteSaver.from_conn_string(path) as saver:
        store(saver, "t", n=1)

    async def again() -> Any:
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            await saver.asetup()
            found = await saver.aget_tuple({"configurable": {"thread_id": "t"}})
            return found.checkpoint["channel_values"]

    assert asyncio.run(again()) == {"n": 1}


def test_a_connection_that_was_given_is_used_and_left_open() -> None:
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    conn.row_factory = sqlite3.Row
    saver = SqliteSaver(conn)
    store(saver, "t", n=1)
    assert read(saver, "t") == {"n": 1}
    saver.close()
    assert conn.execute("SELECT count(*) FROM checkpoints").fetchone()[0] == 1


def test_nothing_is_opened_before_first_use(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    saver = SqliteSaver(path)
    saver.open_session("t")
    assert not path.exists()
    saver.setup()
    assert path.exists()


def test_a_closed_saver_says_so(tmp_path: Path) -> None:
    with SqliteSaver(tmp_path / "log.db") as saver:
        pass
    with pytest.raises(StorageUnavailableError, match="closed"):
        store(saver, "t", n=1)


def test_eight_processes_open_a_fresh_file_at_once(tmp_path: Path) -> None:
    for n in range(5):
        path = tmp_path / f"{n}.db"
        start, go = os.pipe()
        children: list[int] = []
        for k in range(8):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    os.read(start, 1)
                    store(SqliteSaver(path), f"thread-{k}", n=k)
                    code = 0
                finally:
                    os._exit(code)
            children.append(pid)
        os.write(go, b"x" * 8)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        assert codes == [0] * 8
        saver = SqliteSaver(path)
        assert [read(saver, f"thread-{k}") for k in range(8)] == [{"n": k} for k in range(8)]
        saver.close()


def test_a_forked_child_opens_its_own_connection(tmp_path: Path) -> None:
    saver = SqliteSaver(tmp_path / "log.db")
    store(saver, "parent", n=1)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            store(saver, "child", n=2)
            code = 0 if read(saver, "parent") == {"n": 1} else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    store(saver, "parent-2", n=3)
    assert read(saver, "child") == {"n": 2}


def test_many_threads_and_event_loops_share_one_saver(tmp_path: Path) -> None:
    saver = SqliteSaver(tmp_path / "log.db")
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for n in range(10):
                store(saver, f"{name}-{n}", n=n)
            asyncio.run(more(name))
        except BaseException as error:
            errors.append(error)

    async def more(name: str) -> None:
        async def one(n: int) -> None:
            session = saver.open_session(f"{name}-async-{n}")
            await saver.arun(session.commit(checkpoint(n=n), claim=True, release=True))

        await asyncio.gather(*(one(n) for n in range(10)))

    threads = [threading.Thread(target=work, args=(f"w{k}",)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(list(saver.list(None))) == 120
    saver.close()


def test_a_locked_file_is_a_named_error_and_stores_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    saver = SqliteSaver(path, timeout=0.05)
    saver.setup()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageUnavailableError, match="locked"):
        store(saver, "t", n=1)
    other.execute("ROLLBACK")
    store(saver, "t", n=2)
    assert read(saver, "t") == {"n": 2}


def test_a_full_disk_is_a_named_error_and_the_thread_stays_whole(tmp_path: Path) -> None:
    conn = sqlite3.connect(tmp_path / "log.db", isolation_level=None, check_same_thread=False)
    saver = SqliteSaver(conn)
    store(saver, "t", n=1)
    pages = conn.execute("PRAGMA page_count").fetchone()[0]
    conn.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StorageUnavailableError, match="no space"):
        store(saver, "u", n="x" * 100_000)
    assert read(saver, "t") == {"n": 1}
    assert read(saver, "u") is None
    conn.execute("PRAGMA max_page_count = 1000000")
    store(saver, "u", n=2)


def test_a_file_that_is_no_database_is_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(b"This is a poem, not a database. " * 200)
    with pytest.raises(CorruptCheckpointError, match="no SQLite file"):
        SqliteSaver(path).setup()


def test_a_directory_that_does_not_exist_is_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailableError, match="directory"):
        SqliteSaver(tmp_path / "no" / "log.db").setup()


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("postgresql://ada:secret@db/agents", "PostgresSaver"),
        ("sqlite:///threads.db", "'sqlite:///a.db' is 'a.db'"),
        (None, "NoneType.*environment"),
        (7, "int"),
        ("a\0b.db", "NUL"),
    ],
)
def test_what_is_no_path_is_a_named_error(target: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as raised:
        SqliteSaver(target)
    assert "secret" not in str(raised.value)


def test_a_path_may_be_bytes(tmp_path: Path) -> None:
    target: Any = bytes(tmp_path / "threads.db")
    SqliteSaver(target).setup()
    assert (tmp_path / "threads.db").exists()


def test_what_keeps_a_file_from_being_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailableError, match="that is a directory"):
        SqliteSaver(tmp_path).setup()
    with pytest.raises(StorageUnavailableError, match=f"no directory '{tmp_path}/no'"):
        SqliteSaver(tmp_path / "no" / "log.db").setup()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody who may not write")
def test_a_directory_that_may_not_be_written_is_told() -> None:
    """SQLite calls the file a readonly database, or one that it cannot open."""
    with TemporaryDirectory() as name:  # pytest's own are closed to others
        folder = Path(name)
        SqliteSaver(folder / "old.db").setup()
        (folder / "old.db").chmod(0o666)
        folder.chmod(0o555)

        def look(tell: Any) -> None:
            os.setuid(65534)
            for file in ("old.db", "new.db"):
                try:
                    read(SqliteSaver(folder / file), "1")
                except StorageUnavailableError as error:
                    tell(str(error))

        child = fork(look)
        for _ in range(2):
            assert f"may not write to its directory '{name}'" in child.hear()
        assert child.wait() == 0


MANY = """
import resource, sys
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import StorageUnavailableError

resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
held, told = [], []
while not told:
    held.append(SqliteSaver(f"{sys.argv[1]}/{len(held)}.db"))
    try:
        held[-1].setup()
    except StorageUnavailableError as error:
        told.append(str(error))
held[0].close()
held[1].close()
held[-1].setup()
print(told[0])
"""


def test_a_process_with_too_many_open_files_is_told_so(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MANY, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "as many files open as it may" in ran.stdout
    assert "ulimit -n" in ran.stdout


def test_a_file_of_a_newer_plait_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    SqliteSaver(path).setup()
    with sqlite3.connect(path) as conn:
        conn.execute(f"PRAGMA user_version = {SCHEMA.migrations[-1][0] + 1}")
    with pytest.raises(StorageUnavailableError, match="newer"):
        SqliteSaver(path).setup()


def test_heads_of_a_file_from_before_they_were_implied_stay(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    heads = {"newest": b"b", "older": b"a", "none": None, "empty": None}
    with sqlite3.connect(path) as conn:
        for number, steps in SCHEMA.migrations:
            for step in steps if number <= 2 else ():
                conn.execute(step)
        for lane, (thread, head) in enumerate(heads.items()):
            conn.execute(
                "INSERT INTO lanes (lane, thread_id, ns, head) VALUES (?, ?, '', ?)",
                (lane, thread, head),
            )
            for id in (b"a", b"b") if thread != "empty" else ():
                conn.execute(
                    "INSERT INTO checkpoints (lane, id, record) VALUES (?, ?, '')", (lane, id)
                )
        conn.execute("PRAGMA user_version = 2")
    with SqliteSaver(path) as saver:
        rows = saver.execute(ListLanes())
    assert {row.thread_id: row.head for row in rows} == heads


def test_full_synchronous_reaches_the_connection(tmp_path: Path) -> None:
    for level, number in (("NORMAL", 1), ("FULL", 2)):
        database = Database(tmp_path / "log.db", SCHEMA, synchronous=level)  # type: ignore[arg-type]
        for pragma, value in (("synchronous", number), ("journal_mode", "wal")):
            row = database.run(lambda conn, name=pragma: conn.execute(f"PRAGMA {name}").fetchone())
            assert row == (value,)
        database.close()


def test_a_cancelled_call_leaves_the_saver_usable(tmp_path: Path) -> None:
    async def program() -> Any:
        async with SqliteSaver.from_conn_string(str(tmp_path / "log.db")) as saver:
            session = saver.open_session("t")
            plan = session.commit(checkpoint(n=1), claim=True, release=True)
            task = asyncio.create_task(saver.arun(plan))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await saver.arun(saver.open_session("u", policy="allow").load())

    assert asyncio.run(program()) is None


def _made(conn: Any) -> sqlite3.Connection:
    """What `sqlite3` has made of it (see `plait.sqlite.numbered`)."""
    return getattr(conn, "_conn", conn)


@pytest.mark.parametrize("used", [True, False], ids=["used", "unused"])
def test_forked_child_leaves_a_connection_that_was_given_to_its_parent(
    used: bool, tmp_path: Path
) -> None:
    given = sqlite3.connect(tmp_path / "file.sqlite", check_same_thread=False, isolation_level=None)
    database = Database(given, SCHEMA)
    if used:
        database.open()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if database.run(lambda conn: _made(conn) is not given) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert database.run(lambda conn: _made(conn) is given)
    given.close()


@pytest.mark.parametrize("path", ["", b"", "\ud800"])
def test_a_path_that_names_no_file_to_keep_is_refused(path: Any) -> None:
    for kind in (SqliteSaver, SqliteStore, AsyncSqliteSaver):
        with pytest.raises(ConfigError, match="path"):
            kind(path)


def test_a_connection_that_cannot_be_used_is_told_as_such(tmp_path: Path) -> None:
    conn = sqlite3.connect(tmp_path / "own.db")
    with ThreadPoolExecutor(1) as pool, pytest.raises(StorageUnavailableError, match="thread"):
        pool.submit(SqliteSaver, conn).result()
    conn.close()
    with pytest.raises(StorageUnavailableError, match="closed"):
        SqliteSaver(conn)


def test_a_failed_copy_of_a_saver_leaves_it_as_it_is(tmp_path: Path) -> None:
    """Half a copy held the descriptor of the log, and closed it when it went."""
    with SqliteSaver(tmp_path / "a.db") as saver:
        saver.setup()
        for way in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="copied"):
                way(saver)
        gc.collect()
        assert saver.get_tuple({"configurable": {"thread_id": "1"}}) is None
