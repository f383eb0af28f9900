"""A file that another process holds locked: commands say at once who does, and wait so long."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plait import SqliteSaver
from plait.cli import database
from plait.cli.group import cli
from plait.errors import StorageUnavailableError
from plait.sqlite.locks import lockers
from plait.testing.processes import Child, fork

from .app import HERE, fill
from .test_threads import SCRIPT

KNOWN = Path("/proc/locks").exists()
"""Whether the system tells who holds a lock."""
READS = ("threads", "list"), ("timers", "list"), ("check-deploy", "app:graph")
WRITES = ("threads", "prune", "--all"), ("threads", "copy", "done", "new")
NAMES = [" ".join(each) for each in (*READS, *WRITES)]
CASES = [*(("everything", each) for each in READS), *(("writing", each) for each in WRITES)]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver:
        fill(saver)
    return path


def lock(path: Path, what: str) -> Callable[[Callable[[str], Any]], None]:
    """Work for a process: hold a file locked until its gate opens."""

    def work(tell: Callable[[str], Any]) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as conn:
            if what == "everything":
                conn.execute("PRAGMA journal_mode = DELETE")
                conn.execute("BEGIN EXCLUSIVE")
            else:
                conn.execute("BEGIN IMMEDIATE")
            tell("holds it")
            os.read(0, 1)

    return work


@contextmanager
def held(path: Path, what: str) -> Iterator[tuple[Child, Callable[[], None]]]:
    """A process that holds a file locked, and what has it let go."""
    ours, theirs = os.pipe()

    def work(tell: Callable[[str], Any]) -> None:
        os.dup2(ours, 0)
        lock(path, what)(tell)

    child = fork(work)
    try:
        assert child.hear() == "holds it"
        yield child, lambda: os.write(theirs, b"x") and child.wait() and None
    finally:
        child.kill()
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(("what", "command"), CASES, ids=NAMES)
def test_a_command_says_whom_it_waits_for_and_goes_on_when_it_may(
    db: Path, what: str, command: tuple[str, ...]
) -> None:
    with held(db, what) as (holder, let_go):
        ran = subprocess.Popen([SCRIPT, *command, "--db", db], cwd=HERE, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        assert ran.stderr is not None
        line = ran.stderr.readline()
        assert "waiting up to 10 seconds" in line
        assert not KNOWN or f"is locked by process {holder.pid} (" in line
        let_go()
        told, more = ran.communicate(timeout=60)
        assert (ran.returncode, more) == (0, "")
        assert told


@pytest.mark.parametrize(("what", "command"), CASES, ids=NAMES)
def test_a_command_gives_up_and_says_who_is_in_the_way(
    db: Path, what: str, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.2)
    monkeypatch.syspath_prepend(HERE)
    with held(db, what) as (holder, _):
        ran = CliRunner().invoke(cli, [*command, "--db", str(db)])
        assert ran.exit_code == 2
        assert "was locked for 0 seconds by" in ran.output
        assert not KNOWN or f"by process {holder.pid} (" in ran.output


@pytest.mark.skipif(not KNOWN, reason="this system does not tell who holds a lock")
def test_a_saver_that_waited_too_long_says_for_whom(db: Path) -> None:
    assert lockers(str(db)) == []
    with held(db, "writing") as (holder, _), SqliteSaver(db, timeout=0.05) as saver:
        with pytest.raises(StorageUnavailableError, match=f"locked by process {holder.pid} "):
            saver.copy_thread("done", "new")
        assert len(lockers(f"{db.as_uri()}?mode=ro")) == 1
    assert lockers(str(db)) == []
