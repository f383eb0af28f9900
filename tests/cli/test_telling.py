"""What commands print: tables that line up, and that cost little for the threads of a large
database."""

import cProfile

import pytest

from plait.cli.telling import table


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
