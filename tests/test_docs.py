"""The documents tell the truth: their code runs, their sessions show what comes out, links lead on.

A file's `python` blocks run in order in one namespace and an empty folder; `pycon` blocks are
doctests in that namespace; of `python` blocks after a line `<!-- no-run -->` the imports run. (The
mark is no part of the fence: site generators take a fence with words of its own for text.)
"""

from __future__ import annotations

import ast
import doctest
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from plait.engine import commands, events

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^(?:<!-- (no-run) -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE_WITH_WORDS = re.compile(r"^```\w+[^\w\n].*$", re.MULTILINE)


def load(path: Path) -> ModuleType:
    """A Python file that is part of no package, as a module."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_block_of_code_runs(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.py").write_text("two words\n", "utf-8")
    module = ModuleType(f"document_{document.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    text = document.read_text("utf-8")
    for block in FENCE.finditer(text):
        no_run, kind, code = block.groups()
        line = text.count("\n", 0, block.start(3))
        if kind == "pycon":
            run_session(code, vars(module), document, line)
        elif kind == "python":
            compiled = compile("\n" * line + code, str(document), "exec")
            if no_run:
                import_what_it_imports(code, vars(module))
            else:
                exec(compiled, vars(module))


def import_what_it_imports(code: str, namespace: dict[str, Any]) -> None:
    """Run the imports from plait of a block that cannot run alone."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("plait"):
            exec(ast.unparse(node), namespace)


def run_session(code: str, namespace: dict[str, Any], document: Path, line: int) -> None:
    """Run a session as a doctest, in a namespace that it may add to."""
    told: list[str] = []
    session = doctest.DocTestParser().get_doctest(code, {}, document.name, str(document), line)
    session.globs = namespace
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(session, out=told.append, clear_globs=False)
    assert not told, "".join(told)


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_fence_is_one_for_site_generators_too(document: Path) -> None:
    assert FENCE_WITH_WORDS.findall(document.read_text("utf-8")) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_local_link_leads_somewhere(document: Path) -> None:
    inspection = load(ROOT / "examples" / "inspection.py")
    text = document.read_text("utf-8")
    assert inspection.broken_links(ROOT, named(document), text) == []


def test_the_architecture_names_every_file() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    house = load(ROOT / "docs" / "house.py")
    entry = re.compile(r"^(?:\*\*|- )`([^`]+)`", re.MULTILINE)
    shown = entry.findall(page.partition(house.HEADING)[2])
    real = entry.findall(house.every_file())
    assert shown == real, "run `python docs/house.py`"


@pytest.mark.parametrize("vocabulary", [commands, events], ids=["commands", "events"])
def test_the_architecture_names_every_word_of_the_engine(vocabulary: ModuleType) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.partition("## Vocabulary\n")[2].partition("\n## ")[0]
    words = {
        name
        for name, value in vars(vocabulary).items()
        if isinstance(value, type) and value.__module__ == vocabulary.__name__
    }
    assert {word for word in words - {"Command"} if f"`{word}`" not in section} == set()


def test_the_readme_keeps_its_promise_of_thirty_lines() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    code = next(block[3] for block in FENCE.finditer(text) if block[2] == "python")
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 30


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = re.findall(r"\b([\w/-]+\.md)\b", (ROOT / "mkdocs.yml").read_text("utf-8"))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(listed)
