"""Searching files: ripgrep chooses which are read, and what is found is what Python finds."""

import os
import shlex
import sysconfig
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.agents.middleware import FilesystemFileSearchMiddleware

RIPGREP = Path(sysconfig.get_path("scripts"), "rg")
TEXTS = [
    "alpha beta\nTODO: fix-me\n",
    "x = {1: 'a'}\r\nfoo()\r\n\r\nbar[0]\n",
    "one\rtwo\x0cthree\x1f\u2028four",
    "",
    "no end",
    "é ü ß\nλx.x²\n",
    "e\u0301 o\n",
    "tab\there\n  indent\n",
    "<div>a</div> && b -- c\n",
    "\ufeffmark\n",
    "aAbB \u212a \u017f\n",
    "nul\x00in\nmid\n",
    "_x1 x_1 1x\n[a] (b) {2} a{ 2 }\n",
]
CHARACTERS = "abxABT_019 éλ²ß<>-&~#\"'/:;,=!@%\t\n\\|*+?(){}[].^$"
SYNTAX = r"""
\d \w \s \b \S \W \D \B \. \[ \{ \] \- \< \> \/ \A \Z \x61 \t \r \n \u0061
[a-z] [^a] []a] [\w-] [a&&b] [[a]] [[:alpha:]]
(?:ab|x) (a|) (?i) (?x) (?s) (?P<n>a) (?=a) (?<!b) *? {2} {,2} {1,}
alpha TODO foo
"""
PIECES = [*CHARACTERS, "{ 2 }", *SYNTAX.split()]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    for at, text in enumerate(TEXTS):
        file = folder / f"d{at % 3}" / ("." * (at % 2) + f"f{at}.txt")
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode())
    (folder / "bytes.bin").write_bytes(b"\xff\xfealpha\n")
    (folder / ".gitignore").write_text("d1\n")
    (folder / "linked").symlink_to(folder / "d0")
    return folder


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What ripgrep is called with, as often as it is called."""
    program, calls = tmp_path / "rg", tmp_path / "calls"
    calls.touch()
    note = f"printf '%s\\n' \"$*\" >>{shlex.quote(str(calls))}"
    program.write_text(f'#!/bin/sh\n{note}\nexec {shlex.quote(str(RIPGREP))} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return calls


def searching(root: Path, **options: Any) -> Any:
    return FilesystemFileSearchMiddleware(root_path=str(root), **options).grep_search.func


def test_ripgrep_chooses_what_is_read(root: Path, asked: Path, monkeypatch: Any):
    read: list[str] = []
    text_of = Path.read_text

    def noting(self: Path, *args: Any) -> str:
        read.append(self.name)
        return text_of(self, *args)

    monkeypatch.setattr(Path, "read_text", noting)
    assert searching(root)("TO[D]O", output_mode="content") == "/d0/f0.txt:2:TODO: fix-me"
    assert "--regexp=TO[D]O" in asked.read_text()
    assert "f0.txt" in read
    assert {"f4.txt", ".f7.txt", "f8.txt"}.isdisjoint(read)  # plain texts without it


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_the_same_is_found_with_and_without_it(root: Path, pattern: str):
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of sets in sets, by Python's `re`
        patch.setenv("PATH", str(RIPGREP.parent))
        found, expected = (
            searching(root, use_ripgrep=use)(pattern, output_mode="content")
            for use in (True, False)
        )
    assert found == expected


@pytest.mark.parametrize("pattern", [r"\Aalpha", "(?<=al)pha", "al(?#note)pha", "alpha\0?"])
def test_what_it_cannot_read_python_reads(root: Path, asked: Path, pattern: str):
    assert searching(root)(pattern) == "/d0/f0.txt"


def test_it_is_left_alone_if_it_is_not_wanted(root: Path, asked: Path):
    assert searching(root, use_ripgrep=False)("alpha") == "/d0/f0.txt"
    assert asked.read_text() == ""


def test_without_it_python_searches(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert searching(root)("alpha") == "/d0/f0.txt"


def test_one_that_fails_is_not_believed(root: Path, tmp_path: Path, monkeypatch: Any):
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\nexit 101\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert searching(root)("alpha") == "/d0/f0.txt"


def test_names_and_places_are_told_in_one_order(tmp_path: Path, asked: Path):
    for name in ("b/a.txt", "b.txt", "a/z.txt", "a/b/c.txt", "odd\nname", "z"):
        file = tmp_path / "root" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("tea\n")
    found, expected = (
        searching(tmp_path / "root", use_ripgrep=use)("tea", include="*") for use in (True, False)
    )
    assert found == expected
    assert asked.read_text().count("--regexp=tea") == 1


def test_large_files_are_left_out(tmp_path: Path, asked: Path):
    (tmp_path / "large.txt").write_text("tea\n" * 300_000)
    assert searching(tmp_path, max_file_size_mb=1)("tea", include="*.txt") == "No matches found"
