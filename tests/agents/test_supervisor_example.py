"""examples/supervisor.py: three agents answer one question, over the real openai SDK."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "supervisor.py"
PICTURE = EXAMPLE.parent.parent / "docs" / "pictures" / "team.svg"


def run(*arguments: str) -> list[str]:
    command = [sys.executable, str(EXAMPLE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


def test_the_supervisor_answers_from_what_its_three_agents_found() -> None:
    lines = run()
    end = "supervisor: Go to Bruges: the sun shines there, and it costs 167.00 euro for 2."
    assert lines[-1] == end
    asked = [line for line in lines if line.startswith("supervisor  >")]
    assert asked == [
        "supervisor  > transfer_to_forecaster()",
        "supervisor  > transfer_to_railwayman()",
        "supervisor  > transfer_to_treasurer()",
    ]
    assert lines.index("forecaster  < Bruges: sunny, 17 degrees") < lines.index(asked[2])
    assert lines.index("railwayman  < Bruges: 46.50 euro a person") < lines.index(asked[2])
    assert lines.index(asked[2]) < lines.index(" treasurer  < Bruges: 167.00 euro for 2")


def test_another_question_gets_another_answer() -> None:
    assert "Go to Delft" in run("--ask", "Delft or Ghent?")[-1]


def test_the_picture_in_the_documents_is_that_of_the_example(tmp_path: Path) -> None:
    run("--picture", str(tmp_path / "team.svg"))
    assert (tmp_path / "team.svg").read_text() == PICTURE.read_text()
