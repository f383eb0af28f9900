"""The worked examples run from the command line, over the real openai SDK and a real socket."""

import json
import os
import re
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from plait.haystack import Breakpoint, PipelineSnapshot, PipelineState
from plait.messages import AIMessage
from plait.testing.models import ScriptedChatModel

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def run(name: str, *arguments: str) -> list[str]:
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "no model, a script speaks" in done.stderr
    return done.stdout.splitlines()


def mentioning(word: str) -> list[str]:
    return [page.stem for page in sorted(DOCS.glob("*.md")) if word in page.read_text("utf-8")]


def test_the_agent_looks_before_it_answers() -> None:
    lines = run("react")
    found = mentioning("SIGKILL")
    assert lines[:3] == ["> search(SIGKILL)", f"< {', '.join(found)}", f"> beginning({found[0]})"]
    assert lines[-1].startswith(f"{len(found)} pages mention SIGKILL. The first is ")
    assert lines[-1].endswith(lines[3].removeprefix("< "))


def test_every_page_is_summed_up_once_and_all_are_reduced() -> None:
    lines = run("map_reduce")
    names = sorted(page.stem for page in DOCS.glob("*.md"))
    blank = lines.index("")
    assert sorted(line.split(":")[0] for line in lines[:blank]) == names
    end = [f"{len(names)} pages.", f"Begin with {names[0]}.", f"End with {names[-1]}."]
    assert lines[blank + 1 :] == end


def test_a_draft_is_written_again_until_it_is_good() -> None:
    lines = run("reflection")
    assert [line.split(":")[0] for line in lines] == ["write", "judge", "write", "judge"]
    assert "too many" in lines[1]
    assert lines[3] == "judge: Good: 14 words."
    assert len(lines[2].split()) - 1 == 14


def test_rounds_of_reflection_run_out() -> None:
    lines = run("reflection", "--ask", "Say it in at most 3 words.")
    assert [line.split(":")[0] for line in lines] == ["write", "judge"] * 3


def test_a_program_that_fails_is_corrected_by_its_error() -> None:
    lines = run("self_correcting")
    assert lines[0] == "--- attempt 1"
    assert [line for line in lines if line.startswith("failed")] == [
        "failed: TypeError: list indices must be integers or slices, not float"
    ]
    assert lines[-1] == "printed: 3.0"


def test_retrieval_is_graded_put_in_other_words_and_its_answer_checked() -> None:
    lines = run("corrective_rag")
    steps = [line.split(":")[0] for line in lines]
    assert steps == ["retrieve", "grade", "rewrite", "retrieve", "grade", "answer", "answer"]
    assert lines[1] == "grade: nothing"
    answer = lines[-1].removeprefix("answer: ")
    assert any(answer in page.read_text("utf-8") for page in DOCS.glob("*.md"))


def test_what_the_documentation_cannot_know_goes_to_the_web() -> None:
    lines = run("corrective_rag", "--ask", "What is the weather in Delft?")
    assert lines == ["search_web: nothing", "answer: No source says anything about that."]


def test_steps_of_a_plan_are_done_in_turn() -> None:
    lines = run("plan_and_execute")
    words = {n: len((DOCS / f"{n}.md").read_text("utf-8").split()) for n in LONG}
    assert lines[0].count(";") == 2
    done = [line.removeprefix("done: ") for line in lines if line.startswith("done")]
    more, less = sorted(words.values(), reverse=True)
    counts = [f"{name}: {count} words" for name, count in words.items()]
    assert done == [*counts, f"{more} - {less} = {more - less}"]
    assert lines[-1] == f"{max(words, key=words.__getitem__)}, by {more - less} words."


def test_a_planner_that_finds_no_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    example, loopback = import_module("plan_and_execute"), import_module("loopback")

    def never_done(asked: Any) -> Any:
        return "Done." if asked.schema is None else {"steps": ["Look again."], "answer": ""}

    with loopback.chat_model(None, never_done) as model:
        lines = list(example.tell(example.build(model), "Which?"))
    assert lines.count("done: Done.") == example.STEPS
    assert lines[-1] == f"No answer after {example.STEPS} steps."


LONG = ("streaming", "subgraphs")
PICTURED = (
    "react", "map_reduce", "reflection", "self_correcting", "corrective_rag", "plan_and_execute",
)  # fmt: skip


@pytest.mark.parametrize("name", PICTURED)
def test_the_picture_in_the_documents_is_that_of_the_example(tmp_path: Path, name: str) -> None:
    run(name, "--picture", str(tmp_path / "it.svg"))
    assert (tmp_path / "it.svg").read_text() == (DOCS / "pictures" / f"{name}.svg").read_text()


def test_every_example_is_in_the_documents() -> None:
    told = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    named = set(re.findall(r"examples/(\w+)\.py", told + (ROOT / "README.md").read_text("utf-8")))
    parts = {"ending", "inspection", "kill", "report", "support_server", "support_story"}
    there = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert there - parts - {"loopback", "showing"} <= named


def test_the_beginning_of_each_page_is_a_paragraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    react = import_module("react")
    for page in DOCS.glob("*.md"):
        title = page.read_text("utf-8").splitlines()[0].lstrip("# ")
        told = react.beginning(page.stem)
        assert told.startswith(f"{title}: ")
        assert not told.removeprefix(f"{title}: ").startswith("#")


def test_a_page_that_a_model_misnames_is_told_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    react = import_module("react")
    call = {"name": "beginning", "args": {"page": "threds"}, "id": "1"}
    said = [AIMessage("", tool_calls=[call]), "There is none."]
    messages = react.build(ScriptedChatModel(said)).invoke({"messages": "Threds?"})["messages"]
    assert "There is no page 'threds'" in messages[-2].text
    assert messages[-1].text == "There is none."


def test_a_model_may_answer_without_looking_anything_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))

    class Agent:
        def run(self, messages: Any, **given: Any) -> dict[str, Any]:
            return {"messages": messages}

    import_module("haystack_agent").report(Agent())
    assert capsys.readouterr().out == "Found: nothing\n"


STOPPED = [
    ("react --picture it.png", 2, "name a file that ends in .svg: it.png"),
    ("react --picture nowhere/it.svg", 1, "FileNotFoundError: "),
    ("react --model nope:x", 1, "UnknownProviderError: Unable to infer the model provider"),
    ("react --model openai:x", 1, "ModelAuthenticationError: openai:x failed: "),
    ("supervisor --model openai:x", 1, "ModelAuthenticationError: openai:x failed: "),
    ("supervisor --model google_genai:x", 1, "ModelAuthenticationError: google:x failed: "),
    ("haystack_agent --model openai:x", 1, "Error: openai:x failed: Missing credentials."),
    ("haystack_agent --resume nowhere.json", 1, "FileNotFoundError: File not found: nowhere.json"),
    ("haystack_agent --resume text", 1, "JSONDecodeError: Invalid JSON file text"),
    ("haystack_agent --stop text", 1, "FileExistsError: "),
    ("haystack_agent --set apples=3", 2, "--set changes a snapshot: give one with --resume"),
    ("haystack_agent --resume text --set apples", 2, "argument --set: not ITEM=NUMBER: apples"),
    ("haystack_agent What? --resume text", 2, "leave out yours, or --resume"),
    ("haystack_agent --resume pipeline.json --set apples=3", 1, "goes on from an AgentSnapshot"),
    ("haystack_agent --resume text --stop here", 2, "--stop: not allowed with argument --resume"),
    ("survey nowhere", 2, "there is no folder nowhere"),
    ("survey empty", 1, "Nothing to survey: empty has no documents (Python, Markdown)."),
    ("survey --out text", 1, "FileExistsError: "),
    ("kill", 1, "usage: kill.py ROOT OUT [FINISH]; "),
    ("support --serve 99999", 2, "argument --serve: not a port, 0 to 65535: 99999"),
    ("support --serve PORT", 1, "Address already in use. 0 takes a free one."),
    ("support --serve 0 --db nowhere/it.sqlite", 1, "cannot be used (unable to open database"),
    ("support --db nowhere/it.sqlite", 1, "ConnectionError: No server came up: "),
    ("support --model openai:x", 1, "Server A answers 502 ModelAuthenticationError: openai:x "),
]


NO_AGENT = PipelineSnapshot({}, [], PipelineState({}, {}, {}), Breakpoint("retriever"))
"""Of a pipeline of Haystack's, that was not stopped in an agent."""


@pytest.mark.parametrize(("line", "status", "last"), STOPPED, ids=[line for line, *_ in STOPPED])
def test_what_stops_an_example_is_told_in_a_line(
    tmp_path: Path, line: str, status: int, last: str
) -> None:
    (tmp_path / "text").write_text("no snapshot")
    (tmp_path / "pipeline.json").write_text(json.dumps(NO_AGENT.to_dict()))
    (tmp_path / "empty").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        name, *arguments = line.replace("PORT", str(taken.getsockname()[1])).split()
        keyless = {key: value for key, value in os.environ.items() if not key.endswith("_KEY")}
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments],
            cwd=tmp_path, env=keyless, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert last in done.stderr.splitlines()[-1]


def test_a_question_that_a_script_cannot_answer_is_asked_back() -> None:
    assert run("react", "--ask", "") == ["What is the question?"]
    asked = ["supervisor: Which city is it? We know Delft, Bruges, Ghent."]
    assert run("supervisor", "--ask", "Where to?") == asked
