"""What commands print: tables that line up, and that cost little for the threads of a large
database."""

import cProfile
import json
import sys
from io import StringIO
from time import sleep
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

from plait.checkpoint.log.progress import Progress
from plait.cli import main, telling
from plait.cli.telling import progress, shown, table, tell_json


def test_columns_line_up_whatever_stands_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    table(
        ("thread", "bytes", "next"),
        [("a", 5, "at its end"), ("編集", 1234, ""), ("two\nlines \x1b[2J", 77, "x")],
        ["bytes"],
    )
    assert capsys.readouterr().out.splitlines() == [
        "thread              bytes  next",
        "a                       5  at its end",
        "編集                 1234",
        r"two\nlines \x1b[2J     77  x",
    ]


def test_a_table_of_no_rows_is_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    table(("due", "thread"), [])
    assert capsys.readouterr().out == "due  thread\n"


def test_a_row_costs_some_calls_and_not_hundreds(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(f"thread {n}", "2026-11-23T21:40:04", 3, "at its end") for n in range(500)]
    profile = cProfile.Profile()
    profile.runcall(table, ("thread", "updated", "step", "next"), rows)
    calls = sum(entry.callcount for entry in profile.getstats())
    assert len(capsys.readouterr().out.splitlines()) == 501
    assert calls < 100 * len(rows)


class Broken:
    def __repr__(self) -> str:
        return f"Broken({self.since})"  # type: ignore[attr-defined]

    def model_dump(self) -> Any:
        return {"since": self.since}  # type: ignore[attr-defined]


def test_what_cannot_show_itself_is_told_by_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    told = "<Broken that cannot be shown: AttributeError: 'Broken' object has no attribute 'since'>"
    assert shown(Broken()) == told
    tell_json({"value": Broken()})
    assert json.loads(capsys.readouterr().out) == {"value": told}


# --- how far long work is ------------------------------------------------------------------------


def test_where_no_terminal_is_a_line_comes_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(telling, "monotonic", lambda: now)
    with progress("pruning") as tell:
        for done in range(1, 12):
            now += 1
            tell(Progress(f"t{done}", done, 12))
        now += 5
        tell(Progress("long\n", 11, 12, 3000))
    assert capsys.readouterr().err.splitlines() == [
        "pruning: 5 of 12 (t5)",
        "pruning: 10 of 12 (t10)",
        r"pruning: 11 of 12 (long\n: 3,000 records)",
    ]


def test_a_terminal_shows_a_line_that_changes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = StringIO()
    monkeypatch.setattr(
        telling, "Console", lambda stderr: Console(file=screen, force_terminal=True)
    )
    with progress("copying") as tell:
        tell(Progress("[b]a", 0, None, 2000))
        while "2,000" not in screen.getvalue():
            sleep(0.01)
    assert "copying: 0 ([b]a: 2,000 records)" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K"), "nothing of it is left"


def test_a_ctrl_c_while_it_starts_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "plait.cli.group", Stopped("plait.cli.group"))
    with pytest.raises(SystemExit, match="Aborted!"):
        main()
