"""What the survey looks for in one document. Plain functions, nothing of plait in here.

Python: its functions (how long, how many branches) and public names without a docstring.
Markdown: links to local files and headings that lead nowhere.
"""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

KINDS = {".py": "Python", ".md": "Markdown"}
BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_PARSING = Lock()
"""CPython 3.11 counts the depth of the tree it builds for all threads together (gh-106905): two
that parse at once may raise SystemError."""
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Routine:
    """One function of a Python file."""

    name: str
    place: str
    lines: int
    branches: int


@dataclass(frozen=True)
class Finding:
    """What one document is like."""

    path: str
    kind: str
    lines: int
    words: int
    routines: tuple[Routine, ...] = ()
    undocumented: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def documents(root: Path, leave_out: Path | None = None) -> list[str]:
    """The documents below a folder, sorted; hidden folders and `leave_out` are passed over."""
    found: list[str] = []
    for folder, subfolders, names in os.walk(root):
        here = Path(folder)
        subfolders[:] = [n for n in subfolders if n[0] != "." and here / n != leave_out]
        found += [(here / n).relative_to(root).as_posix() for n in names if Path(n).suffix in KINDS]
    return sorted(found)


def inspect_document(root: Path, path: str) -> Finding:
    """Read one document and say what is worth knowing about it."""
    text = (root / path).read_text("utf-8", errors="replace")
    kind = KINDS[Path(path).suffix]
    lines, words = text.count("\n"), len(re.findall(r"\w+", text))
    if kind == "Markdown":
        return Finding(path, kind, lines, words, broken=tuple(broken_links(root, path, text)))
    try:
        with _PARSING:
            tree = ast.parse(text)
    except SyntaxError as error:
        return Finding(path, kind, lines, words, broken=(f"{path}:{error.lineno} does not parse",))
    routines = tuple(_routine(node, path) for node in ast.walk(tree) if isinstance(node, FUNCTIONS))
    return Finding(path, kind, lines, words, routines, tuple(_undocumented(tree, path)))


def broken_links(root: Path, path: str, text: str) -> list[str]:
    """The links of a Markdown text to local files or headings that do not exist."""
    broken: list[str] = []
    for target in _LINK.findall(_CODE.sub("", text)):
        if re.match(r"[a-z][a-z+.-]*:", target):
            continue  # the web is not ours to check
        name, _, anchor = target.partition("#")
        there = (root / path).parent / name if name else root / path
        missing = not there.exists()
        if not missing and anchor and there.suffix == ".md":
            missing = anchor not in _anchors(there.read_text("utf-8", errors="replace"))
        if missing:
            broken.append(f"{path} -> {target}")
    return broken


def _anchors(text: str) -> set[str]:
    """The anchors of a text's headings, as code hosts make them."""
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = (re.sub(r"[^\w\- ]", "", title.lower()) for title in _HEADING.findall(without_code))
    return {heading.replace(" ", "-") for heading in headings}


def _routine(node: ast.FunctionDef | ast.AsyncFunctionDef, path: str) -> Routine:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    branches = sum(isinstance(inner, BRANCHES) for inner in ast.walk(node))
    return Routine(node.name, f"{path}:{node.lineno}", lines, branches)


def _undocumented(tree: ast.Module, path: str) -> list[str]:
    """Public functions and classes without a docstring; tests say it by their names."""
    if "tests" in Path(path).parts:
        return []
    return [
        f"{path}:{node.lineno} {node.name}"
        for node in tree.body
        if isinstance(node, (*FUNCTIONS, ast.ClassDef))
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
        and not any(ast.unparse(mark).endswith("overload") for mark in node.decorator_list)
    ]
