"""What people see in an editor: ordinary programs are green, ordinary mistakes are red.

`right/` holds programs as tutorials write them; they also run here. `wrong.py` marks the lines that
must be red. The checker is basedpyright in its `standard` mode, which most editors use.
"""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
RIGHT = sorted((HERE / "right").glob("*.py"))


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int, str]]:
    """File, line and message of every finding."""
    checker = Path(sys.executable).with_name("basedpyright")
    if not checker.exists():
        pytest.skip("basedpyright is not installed (dependency group `lint`)")
    project = tmp_path_factory.mktemp("editor") / "pyrightconfig.json"
    settings = {
        "include": [str(HERE / "right"), str(HERE / "wrong.py")],
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
    }
    project.write_text(json.dumps(settings))
    command = [checker, "-p", project, "--pythonpath", sys.executable, "--outputjson"]
    told: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)
    assert told["summary"]["filesAnalyzed"] >= len(RIGHT) + 1
    return [
        (Path(one["file"]).stem, one["range"]["start"]["line"] + 1, one["message"])
        for one in told["generalDiagnostics"]
    ]


def test_ordinary_programs_are_green(findings: list[tuple[str, int, str]]) -> None:
    names = {path.stem for path in RIGHT}
    assert [one for one in findings if one[0] in names] == []


def test_ordinary_mistakes_are_red_where_they_are_made(
    findings: list[tuple[str, int, str]],
) -> None:
    lines = (HERE / "wrong.py").read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# red")}
    red = {line: message for file, line, message in findings if file == "wrong"}
    assert {line: red[line] for line in red.keys() - marked} == {}, "red without a mark"
    assert {lines[line - 1] for line in marked - red.keys()} == set(), "marked, but green"


@pytest.mark.parametrize("program", RIGHT, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("error:::plait")
def test_ordinary_programs_run(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(program), run_name="__main__")
