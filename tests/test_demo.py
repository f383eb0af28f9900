"""`make demo`, run as a program: a worker is killed, another finishes, and the effects are counted.

The counting here repeats none of the demo's own: it reads the append-only file and the output.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SURVEY = ROOT / "examples" / "survey.py"
DOCUMENTS = 40
AT_ONCE = 4


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project to survey: real Python files of ours and a text with a broken link."""
    folder = tmp_path / "project"
    folder.mkdir()
    sources = sorted((ROOT / "src" / "plait").rglob("*.py"), key=lambda path: path.stat().st_size)
    for number, source in enumerate(sources[-DOCUMENTS + 1 :]):
        (folder / f"{number:02}_{source.name}").write_bytes(source.read_bytes())
    (folder / "README.md").write_text("# Here\n\n[there](#here) and [nowhere](gone.md)\n", "utf-8")
    return folder


def survey(*arguments: object) -> str:
    """Run the survey without a terminal; returns what it printed."""
    done = subprocess.run(
        [sys.executable, str(SURVEY), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def begun(out: Path) -> dict[str, list[tuple[str, str]]]:
    """Document to the (process, task id) of each time its inspection began."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in (out / "effects.log").read_text("utf-8").splitlines():
        pid, task_id, path = line.split(" ", 2)
        found[path].append((pid, task_id))
    return found


def test_acknowledged_documents_are_not_inspected_again_after_a_sigkill(
    project: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    printed = survey(project, "--demo", "--yes", "--out", out)

    effects = begun(out)
    again = {path: times for path, times in effects.items() if len(times) > 1}
    assert len(effects) == DOCUMENTS
    assert len(again) == AT_ONCE, "those in flight at the kill, and no others"
    for (first_pid, first_id), (second_pid, second_id) in again.values():
        assert first_pid != second_pid
        assert first_id == second_id, "a task keeps its id: its idempotency key"
    assert "killed: SIGKILL (exit status -9)" in printed
    assert re.search(rf"acknowledged before the kill +{DOCUMENTS // 2} +ran again: 0\n", printed)
    assert all(len(line) <= 80 for line in printed.splitlines() if str(tmp_path) not in line)


def test_a_killed_survey_ends_with_the_report_of_an_undisturbed_one(
    project: Path, tmp_path: Path
) -> None:
    survey(project, "--demo", "--yes", "--out", tmp_path / "killed")
    survey(project, "--yes", "--out", tmp_path / "undisturbed")

    report = (tmp_path / "killed" / "report.md").read_text("utf-8")
    assert report == (tmp_path / "undisturbed" / "report.md").read_text("utf-8")
    assert "README.md -> gone.md" in report
    assert "#here" not in report


def test_without_a_terminal_the_demo_answers_by_itself_and_says_so(
    project: Path, tmp_path: Path
) -> None:
    printed = survey(project, "--out", tmp_path)
    assert "answered by itself: standard input is no terminal" in printed
    assert (tmp_path / "report.md").exists()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo terminal")
def test_a_person_at_a_terminal_can_leave_and_come_back_and_say_no(
    project: Path, tmp_path: Path
) -> None:
    left = at_terminal("\x04", project, "--out", tmp_path)  # Ctrl-D
    assert "Stopped. To go on from here" in left
    inspected = begun(tmp_path)

    came_back = at_terminal("n\n", project, "--out", tmp_path)
    assert "Nothing was written." in came_back
    assert not (tmp_path / "report.md").exists()
    assert begun(tmp_path) == inspected, "the question waited; no work was done again"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo terminal")
def test_the_survey_of_one_folder_waits_while_another_is_surveyed(
    project: Path, tmp_path: Path
) -> None:
    left = at_terminal("\x04", project, "--out", tmp_path)  # Ctrl-D
    assert left.rstrip().endswith(
        f"Stopped. To go on from here: python {SURVEY} {project} --out {tmp_path}"
    )
    other = tmp_path / "other"
    other.mkdir()
    (other / "one.md").write_text("# One\n", "utf-8")
    assert "Markdown: 1 documents" in survey(other, "--out", tmp_path)

    inspected = begun(tmp_path)
    assert len(inspected) == DOCUMENTS + 1
    assert f"Python: {DOCUMENTS - 1} documents" in survey(project, "--out", tmp_path)
    assert begun(tmp_path) == inspected, "its question waited; no work was done again"


def at_terminal(typed: str, *arguments: object) -> str:
    """Run the survey at a pseudo terminal, with something typed ahead."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed.encode())
        done = subprocess.run(
            [sys.executable, str(SURVEY), *map(str, arguments)],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return done.stdout
