"""The peers' own tests, as they are and with import roots changed: the strictest reader of all.

    python -m tests.ported.peers [NAME ...]

The sources of a peer's release carry the tests that its makers run. Each suite is fetched from PyPI
and run on the peer, then on plait, and those are told that pass there and not here. What plait does
not name is taken from the peer, and so are its private modules: what tests them proves nothing of
plait, nor do texts of errors. Outside of the gate, as all of this folder: it takes an hour.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from shutil import copytree, rmtree

from tests.ported.__main__ import BUILD, fetch, install, needs, outcomes, prepare, told_lost

SUITES = {
    "langgraph": "1.2.22",
    "langgraph-prebuilt": "1.1.3",
    "langgraph-checkpoint": "4.3.2",
    "langgraph-checkpoint-sqlite": "3.1.2",
    "langchain": "1.4.7",
    "langchain-core": "1.7.2",
    "langchain-dev-utils": "1.4.6",
}
"""The peers whose releases carry tests (those of Postgres ask for a server of their own)."""
ALSO = (
    *("syrupy", "pytest-repeat", "pytest-cov", "pytest-dotenv", "blockbuster", "pycryptodome"),
    "cryptography",
    *(
        "langgraph-checkpoint-postgres",
        "psycopg[binary]",
        "psycopg-pool",
        "redis",
        "langchain-tests",
        "grandalf",
        "uvloop",
        "lark",
    ),
)
"""What these tests use beside that which those of other packages do."""
_ROOTS = ("langgraph", "langchain_core", "langchain", "langchain_dev_utils")
_SETTINGS = "[pytest]\nasyncio_mode = auto\n"
_LOOKING = "yield MemorySaverAssertImmutable()"
"""A saver that looks into the rows of the peer's: plait's are others."""
_PLAIN = "from plait.checkpoint.memory import InMemorySaver as Plain; yield Plain()"


@cache
def home_of(module: str) -> str | None:
    """Where plait has what a peer's module has; None where it stays the peer's."""
    root, *inside = module.split(".")
    if root not in _ROOTS or any(part.startswith("_") for part in inside):
        return None
    home = ".".join(["plait", *inside])
    return home if _loads(home) else None


def _loads(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def has(module: str, name: str) -> bool:
    """Whether a module has a name, or a module of that name inside."""
    return name == "*" or hasattr(import_module(module), name) or _loads(f"{module}.{name}")


class Roots(ast.NodeTransformer):
    """Changes the roots of the imports of a file.

    >>> tree = Roots().visit(ast.parse("from langgraph.graph import END, _private"))
    >>> print(ast.unparse(tree))
    from plait.graph import END
    from langgraph.graph import _private
    """

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        """Each name comes from plait, if it has it."""
        home = None if node.level or node.module is None else home_of(node.module)
        if home is None:
            return [node]
        ours = [each for each in node.names if has(home, each.name)]
        left = [each for each in node.names if each not in ours]
        pairs = ((home, ours), (node.module, left))
        return [ast.ImportFrom(module, names, 0) for module, names in pairs if names]

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        """A module under a name of its own is plait's, if that has it."""
        return [ast.Import([_renamed(each)]) for each in node.names]


def _renamed(module: ast.alias) -> ast.alias:
    home = home_of(module.name) if module.asname else None
    return module if home is None else ast.alias(home, module.asname)


def sides(name: str, source: Path) -> Iterator[tuple[str, Path]]:
    """The folders with the tests of a peer: as they are, and with roots changed."""
    for side in ("peer", "plait"):
        folder = BUILD / "own" / side / name
        rmtree(folder, ignore_errors=True)
        copytree(source / "tests", folder / "tests")
        (folder / "pytest.ini").write_text(_SETTINGS, "utf-8")
        for file in folder.rglob("*.py") if side == "plait" else ():
            text = file.read_text("utf-8").replace(_LOOKING, _PLAIN)
            tree = Roots().visit(ast.parse(text))
            file.write_text(ast.unparse(ast.fix_missing_locations(tree)), "utf-8")
        yield side, folder


def play(name: str) -> str:
    """Run the tests of one peer on both sides; returns its row, and what is lost."""
    source = fetch(name, SUITES[name])
    if wanted := needs(source):
        install(wanted)
    found = {side: outcomes(folder, seconds=3_600) for side, folder in sides(name, source)}
    return told_lost(f"{name}=={SUITES[name]}", found["peer"], found["plait"], shown=None)


def main(given: Sequence[str] | None = None) -> None:
    """Run what the command line names, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.ported.peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args(given).names or [*SUITES]
    BUILD.mkdir(parents=True, exist_ok=True)
    prepare()
    install(ALSO)
    for name in names:
        print(play(name), flush=True)


if __name__ == "__main__":
    main()
