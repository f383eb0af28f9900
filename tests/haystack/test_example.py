"""The example of a Haystack-style agent, as its readers run it: each call a process of its own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES, DOCS = ROOT / "examples", ROOT / "docs"


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "haystack_agent.py", *map(str, arguments)],
        cwd=EXAMPLES, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "scripted-answers: no model" in done.stderr
    return done.stdout


def test_it_works_to_the_end():
    out = run()
    assert "[TOOL RESULT]\napples: 7" in out
    assert "[ASSISTANT]\nThere are 12 fruits." in out
    assert out.endswith("Found: {'apples': 7, 'pears': 5}\n")


def test_it_stops_and_goes_on_in_another_process_with_its_state_edited(tmp_path):
    assert "Breaking at tool_invoker visit count 0 for tool look_up" in run("--stop", tmp_path)
    (snapshot,) = tmp_path.iterdir()
    assert "There are 12 fruits." in run("--resume", snapshot)
    assert "There are 105 fruits." in run("--resume", snapshot, "--set", "apples=100")


def test_the_picture_in_the_documents_is_that_of_the_example(tmp_path):
    run("--picture", str(tmp_path / "it.svg"))
    drawn = (tmp_path / "it.svg").read_text()
    assert "tool_invoker" in drawn
    assert drawn == (DOCS / "pictures" / "haystack.svg").read_text()
