"""A program as a module of one side: loaded as it is, or with its import roots replaced."""

import ast
import functools
import sys
import types
from pathlib import Path
from typing import Literal

Side = Literal["langgraph", "plait"]

PROGRAMS = Path(__file__).parent / "programs"
SHARED = PROGRAMS
"""Where programs of another folder, too, find what several share."""

IMPORT_ROOTS = {
    "langgraph": "plait",
    "langchain_core": "plait",
    "langchain_core.runnables.config": "plait.runnables",
    "langchain_core.runnables.base": "plait.runnables",
    "langchain_core.runnables.history": "plait.runnables",
    "langchain_core.runnables.graph": "plait.runnables.graph",
    "langchain.agents": "plait.agents",
    "langchain.chat_models": "plait.chat_models",
    "langchain.embeddings": "plait.embeddings",
    "langchain.messages": "plait.messages",
    "langchain.rate_limiters": "plait.rate_limiters",
    "langchain.tools": "plait.tools",
    "langchain_dev_utils.graph": "plait.pipeline",
    "langchain_dev_utils.pipeline": "plait.pipeline",
    "langchain_dev_utils.tool_calling": "plait.tool_calling",
    "haystack": "plait.haystack",
    "haystack.components.agents": "plait.haystack",
    "haystack.components.agents.state": "plait.haystack",
    "haystack.components.generators.chat": "plait.haystack",
    "haystack.components.generators.utils": "plait.haystack",
    "haystack.components.tools": "plait.haystack",
    "haystack.components.tools.tool_invoker": "plait.haystack",
    "haystack.core.errors": "plait.haystack",
    "haystack.core.pipeline.breakpoint": "plait.haystack",
    "haystack.dataclasses": "plait.haystack",
    "haystack.dataclasses.breakpoints": "plait.haystack",
    "haystack.tools": "plait.haystack",
    "haystack.tools.errors": "plait.haystack",
    "haystack.utils": "plait.haystack",
}
"""Import roots of a program and what they become; the longest matching row wins."""


def programs() -> list[Path]:
    """The files of all programs that hold cases."""
    return sorted(PROGRAMS.glob("*_*.py"))


class UnknownImportRoot(Exception):
    """A program imports a module of the peer that has no row in `IMPORT_ROOTS`."""


def translate(module: str) -> str:
    """The name under which plait has `module`; names of other packages stay.

    >>> translate("langgraph.graph.message"), translate("typing")
    ('plait.graph.message', 'typing')
    """
    parts = module.split(".")
    for size in range(len(parts), 0, -1):
        if ours := IMPORT_ROOTS.get(".".join(parts[:size])):
            return ".".join([ours, *parts[size:]])
    if parts[0] in ("langchain_core", "langchain"):
        raise UnknownImportRoot(f"{module}: add its row to IMPORT_ROOTS in {__file__}")
    return module


def _to_plait(node: ast.Import | ast.ImportFrom) -> None:
    """Replaces import roots; `import a.b` must use `as`: its bare name is also in the text."""
    if isinstance(node, ast.ImportFrom):
        node.module = translate(node.module) if node.module else None
        return
    for alias in node.names:
        ours = translate(alias.name)
        if ours != alias.name and not alias.asname:
            raise UnknownImportRoot(f"import {alias.name}: write `import ... as name`")
        alias.name = ours


def _to_side(node: ast.Import | ast.ImportFrom, side: Side) -> None:
    """Loads what a program imports with a dot, on the same side."""
    if isinstance(node, ast.ImportFrom) and node.level and node.module:
        node.module, node.level = load(node.module, side).__name__, 0


@functools.cache
def load(program: str, side: Side) -> types.ModuleType:
    """The module of a program on one side, loaded once."""
    path = PROGRAMS / f"{program}.py"
    if not path.exists():
        path = SHARED / path.name
    module = types.ModuleType(f"{side}_programs_{program}")
    module.__file__ = str(path)
    return fill(module, path.read_text(), side, str(path))


def fill(module: types.ModuleType, text: str, side: Side, where: str) -> types.ModuleType:
    """Runs a text in a module of one side; tracebacks name `where`."""
    tree = ast.parse(text, filename=where)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if module.__package__ is None:  # else Python finds what is beside it
            _to_side(node, side)
        if side == "plait":
            _to_plait(node)
    # Schemas are resolved, and saved values named, through sys.modules: each side has its own name.
    sys.modules[module.__name__] = module
    exec(compile(tree, where, "exec"), module.__dict__)
    return module
