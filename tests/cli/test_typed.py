"""The commands on threads that hold types of a program, and on threads that are encrypted."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plait import InMemorySaver, SqliteSaver
from plait.cli.commands import timers
from plait.errors import (
    CorruptCheckpointError,
    ThreadBusyError,
    UnknownNodeError,
    UnregisteredTypeError,
)
from plait.stored import StoredThread, Woken, awake, find_thread, wake

from . import test_threads
from .typed import KEY, Offer, builder, encrypted

ROOT = Path(__file__).parents[2]
AT: Any = {"configurable": {"thread_id": "1"}}


def plait(*arguments: Any) -> subprocess.CompletedProcess[str]:
    """The console script, as these tests have imported the types themselves; the module of the
    graph has its name here and there."""
    app = ("--app-dir", ROOT) if any("tests.cli" in str(each) for each in arguments) else ()
    return test_threads.script(*arguments, *app)


def told(*arguments: Any) -> str:
    ran = plait(*arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def begin(saver: Any) -> Any:
    """A thread that asks about an Offer; the default has been due since."""
    graph: Any = builder.compile(checkpointer=saver)
    assert graph.invoke({"offer": Offer(5)}, AT)["__interrupt__"]
    return graph


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    with SqliteSaver(tmp_path / "plain.db") as saver:
        begin(saver)
    return tmp_path / "plain.db"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    with encrypted(tmp_path / "secret.db") as saver:
        begin(saver)
    return tmp_path / "secret.db"


# --- waking --------------------------------------------------------------------------------------


def test_questions_about_values_that_only_the_graph_knows_are_woken() -> None:
    graph = begin(InMemorySaver())
    assert [tuple(each) for each in wake(graph)] == [("1", False, None)]
    assert graph.get_state(AT).values["taken"] == 1

    async def main(graph: Any) -> list[Any]:
        return [tuple(each) async for each in awake(graph)]

    assert asyncio.run(main(begin(InMemorySaver()))) == [("1", False, None)]


def test_what_cannot_be_read_is_told_and_not_passed_over(secret: Path) -> None:
    with SqliteSaver(secret) as saver:
        graph: Any = builder.compile(checkpointer=saver)
        (woken,) = wake(graph)
        assert isinstance(woken.error, CorruptCheckpointError)

        async def main() -> list[Any]:
            return [each async for each in awake(graph)]

        (again,) = asyncio.run(main())
        assert str(again.error) == str(woken.error)


def test_a_thread_shows_its_questions_to_who_knows_the_types(plain: Path) -> None:
    with SqliteSaver(plain) as saver:
        assert isinstance(find_thread(saver, "1").error, UnregisteredTypeError)
        found = find_thread(saver, "1", builder.compile())
        assert (found.error, found.problem) == (None, "")
        assert found.questions[0].value == Offer(5)


# --- the commands, on types of a program ---------------------------------------------------------


def test_timers_list_tells_what_it_cannot_read(plain: Path) -> None:
    ran = plait("timers", "list", "--db", plain)
    assert ran.returncode == 2
    assert ran.stderr.startswith("1: unreadable: ")
    assert "Offer" in ran.stderr
    with_types = told("timers", "list", "--db", plain, "--graph", "tests.cli.typed:graph", "--json")
    assert [each["thread_id"] for each in json.loads(with_types)] == ["1"]


def test_timers_run_wakes_by_the_types_of_its_graph(plain: Path) -> None:
    assert told("timers", "run", "tests.cli.typed:graph", "--db", plain) == "1: done\n"
    shown = told("threads", "show", "1", "--db", plain, "--graph", "tests.cli.typed:graph")
    assert "taken = 1" in shown
    assert "offer = Offer(price=5)" in shown


# --- the commands, on encrypted threads ----------------------------------------------------------

COMMANDS = [
    ("threads", "list", "--graph", "tests.cli.typed:graph"),
    ("threads", "show", "1", "--graph", "tests.cli.typed:graph"),
    ("threads", "history", "1", "--graph", "tests.cli.typed:graph"),
    ("threads", "du"),
    ("timers", "list", "--graph", "tests.cli.typed:graph"),
    ("check-deploy", "tests.cli.typed:graph"),
    ("threads", "copy", "1", "2"),
    ("threads", "prune", "--all"),
    ("timers", "run", "tests.cli.typed:graph"),
    ("threads", "delete", "1", "--yes"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_key_of_the_environment_opens_encrypted_threads(
    secret: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIT_AES_KEY", f"1={KEY}")
    assert "unreadable" not in told(*command, "--db", secret)
    with encrypted(secret) as saver:  # what was written is encrypted
        graph: Any = builder.compile(checkpointer=saver)
        assert graph.get_state(AT).values in (
            {},
            {"offer": Offer(5)},
            {"offer": Offer(5), "taken": 1},
        )


def test_a_graph_whose_saver_has_the_key_opens_them_too(secret: Path) -> None:
    shown = told("threads", "show", "1", "--db", secret, "--graph", "tests.cli.typed:keyed")
    assert "waits for" in shown
    assert told("timers", "run", "tests.cli.typed:keyed", "--db", secret) == "1: done\n"
    assert "resumes" in told("check-deploy", "tests.cli.typed:keyed", "--db", secret)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("threads", "show", "1"), 2),
        (("threads", "prune", "--all"), 2),
        (("timers", "list"), 2),
        (("timers", "run", "tests.cli.typed:graph"), 1),
    ],
    ids=["show", "prune", "timers list", "timers run"],
)
def test_without_the_key_a_command_says_where_to_put_it(
    secret: Path, command: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = plait(*command, "--db", secret)
    assert ran.returncode == code
    assert "set PLAIT_AES_KEY" in ran.stderr
    monkeypatch.setenv("PLAIT_AES_KEY", "1=" + "08" * 32)
    ran = plait(*command, "--db", secret)
    assert ran.returncode == code
    assert "not the one that encrypted it" in ran.stderr
    monkeypatch.setenv("PLAIT_AES_KEY", "nonsense")
    ran = plait(*command, "--db", secret)
    assert ran.returncode == 2
    assert "PLAIT_AES_KEY holds id=hex pairs" in ran.stderr


# --- times to live -------------------------------------------------------------------------------


def test_expired_threads_are_those_of_the_graphs_saver(secret: Path) -> None:
    key = ("--graph", "tests.cli.typed:keyed")
    told("timers", "run", "tests.cli.typed:keyed", "--db", secret)
    ran = plait("threads", "prune", "--expired", "--db", secret, *key, "--ttl", "1d")
    assert (ran.stdout, ran.stderr) == ("Deleted 0 of the threads.\n", "")
    ran = plait("threads", "prune", "--expired", "--db", secret, *key)
    assert (ran.stdout, ran.stderr) == ("Deleted 1 of the threads.\n", "")


def test_that_nothing_says_how_long_threads_live_is_told(plain: Path) -> None:
    ran = plait("threads", "prune", "--expired", "--db", plain)
    assert ran.stdout == "Deleted 0 of the threads.\n"
    assert "give --ttl" in ran.stderr


@pytest.mark.parametrize(("watch", "code"), [((), 1), (("--watch",), 0)], ids=["once", "watch"])
def test_a_ctrl_c_ends_a_watch_and_is_told_of_a_single_round(
    plain: Path, monkeypatch: pytest.MonkeyPatch, watch: tuple[str, ...], code: int
) -> None:
    async def stopped(_: Any, **__: Any) -> Any:
        yield Woken("1", False, None)
        raise KeyboardInterrupt

    monkeypatch.setattr(timers, "awake", stopped)
    app = (f"{__package__}.typed:graph", "--app-dir", str(ROOT), "--db", str(plain))
    ran = CliRunner().invoke(timers.command, ["run", *app, *watch])
    assert ran.exit_code == code, ran.output
    assert ran.output.splitlines() == ["1: done", *(["", "Aborted!"] if code else [])]


class _Stop(Exception):
    """Ends a watch."""


def watched(
    monkeypatch: pytest.MonkeyPatch, graph: Any, rounds: list[list[Woken]], due: list[StoredThread]
) -> list[float]:
    """How long it waits after each round."""
    left, waited = iter(rounds), list[float]()

    async def wakes(_: Any, **__: Any) -> Any:
        for woken in next(left):
            yield woken

    async def listed(*_: Any) -> Any:
        for each in due:
            yield each

    async def pauses(seconds: float) -> None:
        waited.append(round(seconds, 1))
        if len(waited) == len(rounds):
            raise _Stop

    monkeypatch.setattr(timers, "awake", wakes)
    monkeypatch.setattr(timers, "alist_threads", listed)
    monkeypatch.setattr(timers.asyncio, "sleep", pauses)
    with pytest.raises(_Stop):
        asyncio.run(timers._run(graph, 5.0))
    return waited


def test_watching_tells_an_error_that_stays_once_and_one_that_comes_again_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = [Woken("1", False, CorruptCheckpointError("damaged"))]
    graph = builder.compile(checkpointer=InMemorySaver())
    watched(monkeypatch, graph, [damaged, damaged, [], damaged], [])
    assert capsys.readouterr().err.splitlines() == ["1: cannot go on: damaged"] * 2


def test_watching_does_not_hurry_for_threads_of_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread of another graph stays due, and so does one whose question nobody answered in time
    while its run still goes on."""
    other, busy = UnknownNodeError("no node 'x'"), ThreadBusyError("owned")
    rounds = [[Woken("1", False, other), Woken("2", False, busy)]] * 3
    due = [StoredThread("1", due=1.0), StoredThread("2", due=1.0)]
    graph = builder.compile(checkpointer=InMemorySaver())
    assert watched(monkeypatch, graph, rounds, due) == [5.0] * 3
    told = capsys.readouterr()
    assert told.err.splitlines() == [f"1: failed: {other!r}"]
    assert told.out.splitlines() == ["2: in use, left to its run"]
    due.append(StoredThread("3", due=1.0))
    assert watched(monkeypatch, graph, [[]], due) == [0.1]
