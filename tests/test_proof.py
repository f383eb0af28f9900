"""A sample of the proof of durability; `make prove` does the full counts (see `tests/prove.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.durability.test_kill import BUILDS, Result, Trial, check
from tests.durability.workflow import Journal, finish
from tests.proof.kills import REQUESTS
from tests.proof.parts import Part, Scene, added
from tests.proof.suites import tampering
from tests.prove import FIGURES, QUOTATION, README, ROWS, TABLE, prove, quoted, table

from plait.checkpoint.sqlite import SqliteSaver
from plait.testing import FaultySaver

SAMPLED = [(row, part) for row, each in ROWS.items() for part in each.parts if part.sample]


@pytest.mark.parametrize(("row", "part"), SAMPLED, ids=[f"{r}-{p.name}" for r, p in SAMPLED])
def test_row_of_the_proof(
    row: int, part: Part, request: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    server = request.getfixturevalue("postgres_server") if part.kind == "postgres" else None
    figures = prove(row, part, part.sampled(Random(row)), server)
    with capsys.disabled():
        print(f"\n[proof] row {row}, {part.name}: {figures}")


def test_kills_reach_the_last_storage_request_of_each_workflow(tmp_path: Path) -> None:
    journal, most = Journal(tmp_path / "journal"), 0
    for flow, build in BUILDS.items():
        with FaultySaver(SqliteSaver(tmp_path / f"{flow}.db")) as saver:
            finish(build(saver, journal, "sync"), "sync")
            most = max(most, saver.requests)
    assert most == REQUESTS


def test_a_failure_says_how_to_play_it_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(trial: Trial, result: Result) -> None:
        raise AssertionError("a task was lost")

    monkeypatch.setattr("tests.proof.kills.check_outcome", lost)
    with pytest.raises(AssertionError, match="a task was lost") as failed:
        prove(1, ROWS[1].parts[0], [17], None)
    command = 'python -m tests.prove --row 1 --part "SQLite" --seed 17'
    assert [note.endswith(command) for note in failed.value.__notes__] == [True]
    assert str(failed.value) == "a task was lost"
    trial = Trial("fan", "sync", "sync", "after", (3,))
    monkeypatch.setattr("tests.durability.test_kill.check_outcome", lost)
    with pytest.raises(
        AssertionError, match=r'PLAIT_KILL="fan sync sync after 3" .* elsewhere\.py'
    ):
        check(trial, Result([], None, [], 0), "elsewhere.py")


def test_tampered_records_and_attacks_are_errors_or_inert(tmp_path: Any) -> None:
    figures = tampering(7, Scene(tmp_path, None, None), mutations=2000)  # type: ignore[arg-type]
    assert figures["imports_or_executions"] == 0
    assert figures["outcomes"]["mutated: typed error"] == 2000


def test_the_documents_tell_the_figures_that_were_found() -> None:
    figures = json.loads(FIGURES.read_text("utf-8"))
    assert TABLE.read_text("utf-8") == table(figures)
    assert QUOTATION.findall(README.read_text("utf-8")) == [quoted(figures)]
    assert "(not run)" not in table(figures)
    for line in quoted(figures).splitlines()[2:]:
        _, _, often, wrong, _ = line.split("|")
        assert often.strip(), line
        assert wrong.startswith(" 0 "), line


def test_figures_add_up_and_the_slowest_stays() -> None:
    some = {"runs": 2, "slowest (ms)": 9, "heard": []}
    assert added({"runs": 1, "slowest (ms)": 30}, some) == {"runs": 3, "slowest (ms)": 30,
                                                            "heard": []}  # fmt: skip
