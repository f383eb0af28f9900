"""The tests of packages that were written for LangGraph, as they are and with import roots changed.

    python -m tests.ported [NAME ...]

Each package is fetched from PyPI, its own tests run on LangGraph, then on plait with nothing but
the import roots replaced, and those are told that pass there and not here. Outside of the gate: it
needs PyPI, runs other people's code, and takes some minutes. What a row loses is not always plait's
fault: tests of text that names LangGraph, and of what is private to it, are lost to the renaming.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from email import message_from_string
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import gettempdir
from urllib.request import Request, urlopen
from xml.etree import ElementTree

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = Path(gettempdir()) / "plait-ported"
"""Outside of the checkout, whose settings of pytest are not for them."""
PYTHON = BUILD / "venv" / "bin" / "python"
UV = Path(sys.executable).with_name("uv")
INDEX = os.environ.get("PLAIT_INDEX", "https://pypi.org/simple")
SECONDS = 600
"""How long the tests of one package may take on one side."""
SHOWN = 12
"""Lost tests of a package that are told."""
HELPERS = (
    *("langgraph", "langgraph-checkpoint-sqlite", "langchain-core", "langchain", "fastapi"),
    *("langchain-openai", "langchain-anthropic", "pytest", "pytest-asyncio", "pytest-timeout"),
    *("pytest-mock", "pytest-socket", "pytest-httpx", "anyio", "respx", "freezegun", "requests"),
    *("fakeredis", "hypothesis", "dirty-equals"),
)
"""What packages' tests use and do not always name, beside the peers."""
_PINS = ("langgraph", "langchain-core", "langchain", "langgraph-checkpoint")
_OWN = ("agents", "chat_models", "embeddings", "messages", "rate_limiters", "tools")
_RULES = [
    (r"\blanggraph_supervisor(\.\w+)*", "plait.agents.supervisor"),
    (r"\blanggraph_swarm(\.\w+)*", "plait.agents.swarm"),
    (r"\b(from\s+)lang(?:graph|chain_core)(\s+import)", r"\1plait\2"),
    (r"\blangchain_core\.(?=[a-z_])", "plait."),
    (rf"\blangchain\.({'|'.join(_OWN)})\b", r"plait.\1"),
]
_MODULE = re.compile(r"\blanggraph(\.[a-z_]\w*)+")


def packages() -> dict[str, str]:
    """The packages by name, each with the version that is run."""
    lines = (HERE / "packages.txt").read_text("utf-8").split()
    return dict(line.split("==") for line in lines)


# --- Fetching -----------------------------------------------------------------------------------


def fetch(name: str, version: str) -> Path:
    """The sources of a release, proved by the digest that the index tells."""
    home = BUILD / "sources" / f"{name}-{version}"
    if not home.exists():
        kind = "application/vnd.pypi.simple.v1+json"
        page = json.loads(_get(f"{INDEX}/{name}/", Accept=kind))
        ending = f"-{version}.tar.gz"
        (found,) = [each for each in page["files"] if each["filename"].endswith(ending)]
        data = _get(found["url"])
        if sha256(data).hexdigest() != found["hashes"]["sha256"]:
            raise SystemExit(f"{found['filename']} is not what the index says.")
        with tarfile.open(fileobj=BytesIO(data)) as archive:
            archive.extractall(home, filter="data")
    (top,) = home.iterdir()
    return top


def _get(url: str, **headers: str) -> bytes:
    with urlopen(Request(url, headers=headers), timeout=60) as answer:
        return answer.read()


def prepare() -> None:
    """An environment with both sides and what the tests of packages use."""
    if not PYTHON.exists():
        subprocess.run([UV, "venv", "--quiet", PYTHON.parents[1]], check=True)
        install([*HELPERS, "-e", str(ROOT)])


def install(wanted: Sequence[str]) -> None:
    """Install what tests need into the environment of both sides, the peers as they are pinned."""
    pins = BUILD / "pins.txt"
    pins.write_text("\n".join(_peers()), "utf-8")
    command = [UV, "pip", "install", "--quiet", "--python", PYTHON, "--constraint", pins, *wanted]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        print(f"not all of these could be installed: {', '.join(wanted)}", file=sys.stderr)


def _peers() -> Iterator[str]:
    for line in (ROOT / "pyproject.toml").read_text("utf-8").splitlines():
        if found := re.match(r'\s*"((?:langgraph|langchain)[\w-]*==[\d.]+)"', line):
            yield found[1]


def needs(source: Path) -> list[str]:
    """What a package and its tests need besides the peers."""
    told = message_from_string((source / "PKG-INFO").read_text("utf-8", "replace"))
    found: list[str] = []
    for line in told.get_all("Requires-Dist") or []:
        requirement, _, marker = line.partition(";")
        name = re.match(r"[\w.-]+", requirement.strip())
        extra = re.search(r"extra\s*==\s*.(\w+)", marker)
        if name and name[0].lower() not in _PINS and (not extra or extra[1][:3] in ("dev", "tes")):
            found.append(re.sub(r"\s*\(([^)]*)\)", r"\1", requirement.strip()))
    return found


# --- Changing the roots -------------------------------------------------------------------------


def own_modules(source: Path) -> set[str]:
    """The modules below `langgraph` that a package brings itself."""
    found: set[str] = set()
    for file in source.rglob("*.py"):
        parts = [part for part in file.with_suffix("").parts if part != "__init__"]
        if "langgraph" in parts:
            found.add(".".join(parts[parts.index("langgraph") :]))
    return found - {"langgraph"}


def change_roots(text: str, own: set[str]) -> str:
    """A source text with its import roots replaced.

    >>> change_roots("from langgraph.graph import END", set())
    'from plait.graph import END'
    >>> change_roots("import langgraph.mine.deep", {"langgraph.mine"})
    'import langgraph.mine.deep'
    """

    def changed(found: re.Match[str]) -> str:
        module = found[0]
        if any(module == each or module.startswith(f"{each}.") for each in own):
            return module
        return module.replace("langgraph", "plait", 1)

    text = _MODULE.sub(changed, text)
    for pattern, replacement in _RULES:
        text = re.sub(pattern, replacement, text)
    return text


# --- Running ------------------------------------------------------------------------------------


def outcomes(folder: Path, seconds: int = SECONDS) -> dict[str, str]:
    """By test "pass", "skip", or what the failure says; nothing if they take longer."""
    report = folder / "outcomes.xml"
    where = [name for name in ("tests", "test") if (folder / name).is_dir()] or ["."]
    options = ["-q", "-o", "addopts=", "-p", "no:cacheprovider", "--timeout=60"]
    paths = os.pathsep.join(str(path) for path in (folder, folder / "src"))
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "none")
    command = [PYTHON, "-m", "pytest", *where, *options, f"--junitxml={report}"]
    with (folder / "output.txt").open("w") as output:
        try:
            subprocess.run(
                [*command, "--continue-on-collection-errors"], cwd=folder, timeout=seconds,
                check=False, stdout=output, stderr=output,
                env={**os.environ, **keys, "PYTHONPATH": paths, "LANGSMITH_TRACING": "false",
                     "NO_DOCKER": "true"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {}
    found: dict[str, str] = {}
    for test in ElementTree.parse(report).iter("testcase"):
        bad = next((e for e in test if e.tag in ("failure", "error")), None)
        told = "pass" if bad is None else f"{bad.get('message')}"
        skipped = test.find("skipped") is not None
        found[f"{test.get('classname')}::{test.get('name')}"] = "skip" if skipped else told
    return found


def play(name: str, version: str) -> str:
    """Run the tests of one package on both sides; returns its row."""
    source = fetch(name, version)
    if wanted := needs(source):
        install(wanted)
    own = own_modules(source)
    found: dict[str, dict[str, str]] = {}
    for side in ("langgraph", "plait"):
        folder = BUILD / side / name
        rmtree(folder, ignore_errors=True)
        copytree(source, folder)
        if side == "plait":
            for file in folder.rglob("*.py"):
                text = file.read_text("utf-8", "replace")
                file.write_text(change_roots(text, own), "utf-8")
        found[side] = outcomes(folder)
    return told_lost(f"{name}=={version}", found["langgraph"], found["plait"])


def told_lost(
    name: str, peer: dict[str, str], plait: dict[str, str], shown: int | None = SHOWN
) -> str:
    """A row: how many pass on both sides; then those that pass on the first alone."""
    passed = [test for test, told in peer.items() if told == "pass"]
    lost = {test: plait.get(test, "did not run") for test in passed}
    lost = {test: told for test, told in lost.items() if told != "pass"}
    row = f"{name}: {len(passed)} pass on the peer, {len(passed) - len(lost)} on plait"
    told = [f"    {test}: {said[:200]!r}" for test, said in lost.items()]
    return "\n".join([row, *told[:shown]])


def main() -> None:
    """Run what the command line names, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.ported", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    known = packages()
    names = parser.parse_args().names or [*known]
    BUILD.mkdir(parents=True, exist_ok=True)
    prepare()
    for name in names:
        print(play(name, known[name]), flush=True)


if __name__ == "__main__":
    main()
