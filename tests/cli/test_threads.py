"""The commands `plait threads` and `plait timers`, in their own processes, on real files."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from plait import SqliteSaver
from plait.cli.telling import in_one_line
from plait.store.sqlite import SqliteStore
from plait.stored import find_thread, list_threads, wake

from .app import HERE, builder, fill, whose
from .forked import forked

SCRIPT = Path(sys.executable).with_name("plait")


def script(*arguments: Any, answer: str | None = None) -> subprocess.CompletedProcess[str]:
    """The console script, in a new process."""
    command = [SCRIPT, *map(str, arguments)]
    return subprocess.run(
        command, cwd=HERE, capture_output=True, text=True, timeout=120, check=False, input=answer
    )


def plait(*arguments: Any, answer: str = "") -> subprocess.CompletedProcess[str]:
    return forked([*map(str, arguments)], HERE, answer)


def told(*arguments: Any) -> str:
    ran = plait(*arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver:
        fill(saver)
    return path


COMMANDS = [
    "threads list", "threads show asks", "threads history done --json", "threads du",
    "threads copy done twin", "threads prune done --keep-last 2", "threads delete done --yes",
    "threads delete done", "threads show nobody", "timers run app:graph", "threads list --no-such",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_the_console_script_says_and_does_what_a_forked_command_does(
    db: Path, tmp_path: Path, command: str
) -> None:
    def changed(run: Any, folder: str) -> Any:
        copy = tmp_path / folder / db.name
        copy.parent.mkdir()
        copy.write_bytes(db.read_bytes())
        ran = run(*command.split(), "--db", copy)
        with SqliteSaver(copy) as saver:
            threads = [each.thread_id for each in list_threads(saver)]
        told = [text.replace(str(copy), "DB") for text in (ran.stdout, ran.stderr)]
        return ran.returncode, told, threads

    assert changed(script, "script") == changed(plait, "forked")


def test_what_an_old_encoding_lacks_is_escaped(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteSaver(db) as saver:
        saver.copy_thread("asks", "naïve 日本 🎉")
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    ran = subprocess.run([SCRIPT, "threads", "list", "--db", db], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "naïve \\u65e5\\u672c \\U0001f389" in ran.stdout.decode("cp1252")
    command = [SCRIPT, "threads", "list", "--json", "--db", db]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert "naïve 日本 🎉" in [each["thread_id"] for each in told]


def test_list_tells_where_threads_stand_and_what_they_wait_for(db: Path) -> None:
    before = db.read_bytes()
    lines = told("threads", "list", "--db", db).splitlines()
    rows = {line.split()[0]: line.rstrip() for line in lines[1:-1]}
    assert list(rows) == ["done", "asks", "sleeps", "due", "fails"]
    assert "at its end" in rows["done"]
    assert rows["asks"].endswith("1 answer")
    assert "pause" in rows["sleeps"]
    assert lines[-1] == "5 threads"
    threads = json.loads(told("threads", "list", "--db", db, "--json"))
    assert [each["thread_id"] for each in threads] == list(rows)
    assert threads[1]["questions"][0]["value"] == "[b]well?[/b]"
    assert threads[2]["due"] > threads[2]["updated"]
    assert db.read_bytes() == before


def test_show_and_history_tell_one_thread(db: Path) -> None:
    before = db.read_bytes()
    shown = told("threads", "show", "asks", "--db", db)
    assert "waits for " in shown
    assert "'[b]well?[/b]'" in shown, "markup of users is text"
    assert "items = ['ask', 'noted']" in shown
    data = json.loads(told("threads", "show", "asks", "--db", db, "--json"))
    assert data["values"] == {"items": ["ask", "noted"]}
    history = json.loads(told("threads", "history", "done", "--db", db, "--json"))
    assert [each["made_by"] for each in history][:2] == [["pause"], ["note"]]
    assert history[0]["parent_id"] == history[1]["checkpoint_id"]
    table = told("threads", "history", "done", "--db", db, "--limit", "2").splitlines()
    assert len(table) == 3
    assert db.read_bytes() == before


def test_du_adds_up_by_thread_channel_and_node(db: Path) -> None:
    before = db.read_bytes()
    cost = json.loads(told("threads", "du", "--db", db, "--json"))
    assert cost["total"] == sum(cost["by_thread"].values()) == sum(cost["by_node"].values())
    assert next(iter(cost["by_thread"])) == "done"
    assert cost["by_channel"]["items"] > 2000
    one = json.loads(told("threads", "du", "done", "--db", db, "--json"))
    assert one["by_thread"] == {"done": cost["by_thread"]["done"]}
    seen = plait("threads", "du", "--db", db)
    assert "total" in seen.stdout
    assert seen.stderr == "", "how far it is, is told to people alone"
    assert db.read_bytes() == before


def test_copy_prune_and_delete_change_what_they_name(db: Path) -> None:
    assert told("threads", "copy", "done", "twin", "--db", db) == "Copied done to twin.\n"
    assert told("threads", "prune", "done", "--keep-last", "2", "--db", db) == "Pruned 1 thread.\n"
    kept = json.loads(told("threads", "history", "done", "--db", db, "--json"))
    whole = json.loads(told("threads", "history", "twin", "--db", db, "--json"))
    assert (len(kept), len(whole)) == (2, 4)
    assert told("threads", "prune", "--all", "--db", db) == "Pruned 6 threads.\n"
    refused = plait("threads", "delete", "twin", "--db", db, answer="n\n")
    assert refused.returncode == 1
    assert told("threads", "delete", "twin", "done", "--yes", "--db", db).startswith("Deleted 2")
    with SqliteSaver(db) as saver:
        assert [each.thread_id for each in list_threads(saver)] == [
            "asks",
            "sleeps",
            "due",
            "fails",
        ]


def test_prune_takes_ages_and_times_to_live(db: Path) -> None:
    assert told("threads", "prune", "done", "--older-than", "1h", "--db", db).startswith("Pruned")
    assert len(json.loads(told("threads", "history", "done", "--db", db, "--json"))) == 4
    keep = ("--keep-last", "1", "--older-than", "2999-01-01")
    told("threads", "prune", "done", *keep, "--db", db)
    assert len(json.loads(told("threads", "history", "done", "--db", db, "--json"))) == 1
    assert told("threads", "prune", "--expired", "--ttl", "1s", "--db", db).startswith("Deleted 0")
    with SqliteSaver(db) as saver:
        builder.compile(checkpointer=saver).invoke(
            {"items": []}, {"configurable": {"thread_id": "brief", "thread_ttl": 0}}
        )
    assert told("threads", "prune", "--expired", "--db", db).startswith("Deleted 1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "nobody"), "There is no thread 'nobody'"),
        (("prune",), "Name the threads"),
        (("prune", "done", "--older-than", "soon"), "Or give an age: 90s"),
        (("prune", "done", "--older-than", "3x"), "is no age"),
        (("prune", "--expired", "--ttl", "5"), "is no age"),
        (("copy", "done", "asks"), "exists"),
        (("copy", "nobody", "new"), "no thread 'nobody'"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    db: Path, arguments: tuple[str, ...], message: str
) -> None:
    ran = plait("threads", *arguments, "--db", db)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_thread_that_a_live_run_owns_is_not_changed(db: Path) -> None:
    with SqliteSaver(db) as saver:
        session = saver.open_session("done")
        saver.run(session.claim())
        for arguments in (("prune", "done"), ("delete", "done", "--yes")):
            ran = plait("threads", *arguments, "--db", db)
            assert (ran.returncode, "is owned by" in ran.stderr) == (2, True)
        assert "(running)" in told("threads", "list", "--db", db)
        saver.run(session.release())


def test_another_url_is_refused_and_its_password_not_shown() -> None:
    for command in (("threads", "list"), ("threads", "prune", "--all"), ("timers", "list")):
        ran = plait(*command, "--db", "postgresql+psycopg://me:secret@nowhere/db")
        assert ran.returncode == 2
        assert "begins with postgresql://, not with postgresql+psycopg://" in ran.stderr
        assert "secret" not in ran.stderr


def test_reading_makes_no_database(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.db"
    for arguments in (("threads", "list"), ("threads", "prune", "--all"), ("timers", "list")):
        assert "There is no database" in plait(*arguments, "--db", path).stderr
    assert not path.exists()


# --- timers --------------------------------------------------------------------------------------


def test_timers_run_goes_on_with_what_is_due_and_only_with_that(db: Path) -> None:
    waits = json.loads(told("timers", "list", "--db", db, "--json"))
    assert [each["thread_id"] for each in waits] == ["due", "fails", "sleeps"]
    assert told("timers", "list", "--db", db).splitlines()[1].split()[1] == "due"
    ran = plait("timers", "run", "app:graph", "--db", db)
    assert ran.returncode == 1, "a run has failed"
    assert ran.stdout == "due: done\n"
    assert ran.stderr.startswith("fails: failed: ValueError('beyond repair')")
    with SqliteSaver(db) as saver:
        due = find_thread(saver, "due")
        assert (due.next, due.due) == ((), None)
        assert find_thread(saver, "sleeps").due is not None
    again = plait("timers", "run", "app:graph", "--db", db)
    assert (again.stdout, again.stderr) == ("", "Nothing is due.\n")


def test_timers_run_gives_each_thread_what_its_call_needs(tmp_path: Path) -> None:
    db = tmp_path / "threads.db"
    with SqliteSaver(db) as saver:
        graph: Any = whose.compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "1"}, "metadata": {"user": "ada"}}
        graph.invoke({"items": []}, config)
    run = ("timers", "run", "app:whose", "--db", db)
    wrong = plait(*run, "--options-of", "app:HERE")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no function" in wrong.stderr
    assert plait(*run, "--options-of", "app:options_of").stdout == "1: done\n"
    assert json.loads(told("threads", "show", "1", "--db", db, "--json"))["values"] == {
        "items": ["of ada"]
    }


def test_timers_run_tells_of_a_run_that_lacks_its_context(tmp_path: Path) -> None:
    db = tmp_path / "threads.db"
    with SqliteSaver(db) as saver:
        graph: Any = whose.compile(checkpointer=saver)
        graph.invoke({"items": []}, {"configurable": {"thread_id": "1"}})
    ran = plait("timers", "run", "app:whose", "--db", db)
    assert ran.returncode == 1
    assert "pass context=Whose(...)" in ran.stderr


def test_threads_are_listed_with_what_their_calls_said_of_them(tmp_path: Path) -> None:
    db = tmp_path / "threads.db"
    with SqliteSaver(db) as saver:
        config: Any = {"configurable": {"thread_id": "1"}, "metadata": {"user": "ada"}}
        builder.compile(checkpointer=saver).invoke({"items": []}, config)
        (thread,) = list_threads(saver)
    assert thread.metadata["user"] == "ada"
    (listed,) = json.loads(told("threads", "list", "--db", db, "--json"))
    assert listed["metadata"] == thread.metadata


def test_wake_leaves_threads_in_use_to_their_runs(db: Path) -> None:
    with SqliteSaver(db) as saver:
        session = saver.open_session("due")
        saver.run(session.claim())
        graph = builder.compile(checkpointer=saver)
        errors = {each.thread_id: type(each.error).__name__ for each in wake(graph)}
        assert errors == {"due": "ThreadBusyError", "fails": "ValueError"}
        saver.run(session.release())
        assert [each.error for each in wake(graph)] == [None]


def test_a_copy_that_keeps_no_log_is_read_as_it_is(db: Path, tmp_path: Path) -> None:
    copy = tmp_path / "backup.db"
    with closing(sqlite3.connect(db)) as conn:
        conn.execute("VACUUM INTO ?", (str(copy),))
    before = copy.read_bytes()
    assert told("threads", "list", "--db", copy) == told("threads", "list", "--db", db)
    assert "well?" in told("threads", "show", "asks", "--db", copy)
    assert copy.read_bytes() == before
    assert told("threads", "delete", "done", "--yes", "--db", copy) == "Deleted 1 thread.\n"


def test_a_database_of_something_else_is_told_of_and_gets_no_tables(tmp_path: Path) -> None:
    empty, other = tmp_path / "empty.db", tmp_path / "shop.db"
    empty.touch()
    with closing(sqlite3.connect(other)) as conn:
        conn.execute("CREATE TABLE orders (id)")
        conn.commit()
    for path in (empty, other):
        before = path.read_bytes()
        for command in (
            ("list",),
            ("du",),
            ("prune", "--all"),
            ("prune", "--expired", "--ttl", "1d"),
            ("copy", "a", "b"),
            ("delete", "a", "--yes"),
        ):
            ran = plait("threads", *command, "--db", path)
            assert ran.returncode == 2
            assert "has no tables of plait" in ran.stderr
        assert path.read_bytes() == before
    ran = plait("timers", "run", "app:graph", "--db", other)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "has no tables of plait" in ran.stderr
    assert other.read_bytes() == before


def test_timers_run_may_be_the_first_on_an_empty_file_or_beside_a_store(tmp_path: Path) -> None:
    empty, items = tmp_path / "empty.db", tmp_path / "items.db"
    empty.touch()
    with SqliteStore.from_conn_string(str(items)) as store:
        store.put(("a",), "b", {})
    for path in (empty, items):
        ran = plait("timers", "run", "app:graph", "--db", path)
        assert (ran.returncode, ran.stderr) == (0, "Nothing is due.\n")
        assert told("threads", "list", "--db", path).endswith("0 threads\n")


def test_commands_on_threads_do_not_load_what_only_graphs_need() -> None:
    code = (
        "import sys; from plait.cli.commands import threads; "
        "print(sorted({'plait.graph', 'plait.pregel.main', 'rich.progress'} & {*sys.modules}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout == "[]\n"


# --- odd threads, odd states, odd options --------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["[/x]", "[red]x[/red]", "\x1b[31mred", "two\nlines", "ü", "'", ""]
)
def test_a_thread_may_have_any_name(db: Path, name: str) -> None:
    said = told("threads", "copy", "done", name, "--db", db)
    shown = told("threads", "show", name, "--db", db)
    assert "\x1b" not in said + shown
    assert "\n" not in said.removesuffix("\n")
    assert shown.startswith(in_one_line(name))
    assert len(json.loads(told("threads", "list", "--db", db, "--json"))) == 6
    assert told("threads", "delete", name, name, "--yes", "--db", db) == "Deleted 1 thread.\n"


@pytest.mark.parametrize(
    ("item", "as_json"),
    [
        ({(1, 2): 3, None: 4}, {"(1, 2)": 3, "null": 4}),
        ([{b"a": {1}}], [{"b'a'": [1]}]),
        ("half \ud83d", "half \ud83d"),
        (datetime(2026, 1, 2), "datetime.datetime(2026, 1, 2, 0, 0)"),
    ],
)
def test_json_shows_what_it_does_not_know(tmp_path: Path, item: Any, as_json: Any) -> None:
    db = tmp_path / "odd.db"
    with SqliteSaver(db) as saver:
        runs = builder.compile(checkpointer=saver)
        runs.invoke({"items": [item]}, {"configurable": {"thread_id": "1"}})
    shown = json.loads(told("threads", "show", "1", "--json", "--db", db))
    assert shown["values"]["items"][0] == as_json


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--all --ttl 30d", "--expired"),
        ("--expired --keep-last 1", "whole threads"),
        ("--expired --older-than 1d", "whole threads"),
        ("--all --older-than 99999999d", "no time"),
        ("--expired --ttl 99999999999999999999d", "longer"),
    ],
)
def test_options_that_mean_nothing_together_prune_nothing(db: Path, options: str, why: str) -> None:
    before = db.read_bytes()
    ran = plait("threads", "prune", *options.split(), "--db", db)
    assert ran.returncode == 2
    assert why in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert db.read_bytes() == before


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import not_installed", "line 1): ModuleNotFoundError: No module named 'not_installed'"),
        ("\n1 / 0", "line 2): ZeroDivisionError"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_module_that_fails_is_told_without_a_traceback(
    db: Path, tmp_path: Path, source: str, why: str
) -> None:
    (tmp_path / "fails.py").write_text(source)
    ran = plait("timers", "run", "fails:graph", "--app-dir", tmp_path, "--db", db)
    assert ran.returncode == 2
    assert why in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_path_is_no_module(db: Path) -> None:
    ran = plait("timers", "run", "./app.py:graph", "--db", db)
    assert (ran.returncode, "shop.graphs:support" in ran.stderr) == (2, True)


def test_what_cannot_be_written_is_told_in_one_line(db: Path) -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [SCRIPT, "threads", "show", "done", "--db", db],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert ran.returncode == 2
    assert ran.stderr.startswith("Error: ")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["threads show ü", "check-deploy app:graph --all"])
def test_a_terminal_without_letters_of_its_own_shows_a_thread(db: Path, command: str) -> None:
    told("threads", "copy", "done", "ü", "--db", db)
    ran = subprocess.run(
        [SCRIPT, *command.split(), "--db", db],
        cwd=HERE, capture_output=True, timeout=120, check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_database_without_a_name_is_none(tmp_path: Path) -> None:
    assert "is empty" in plait("threads", "list", "--db", "").stderr
    assert "is a directory" in plait("threads", "list", "--db", tmp_path).stderr
