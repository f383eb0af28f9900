"""Plays a seed, and tells of one on which the sides part: where, its program, and a replay."""

import re
import traceback
from dataclasses import dataclass
from typing import Any

from tests.differential.normal import Difference

from .family import Family
from .shrink import shrink

WIDTH = 400  # of each line that is told of a difference


@dataclass(frozen=True)
class Found:
    """How the sides part on one program."""

    text: str
    kind: str
    """Shrinking keeps to it, so that one difference does not become another."""


def failure(family: Family[Any], seed: int, *, smaller: bool = False) -> str | None:
    """What to print of a seed on which the sides part; None if they agree.

    Args:
        family: whose seed it is.
        seed: stands for a program.
        smaller: whether the program is shrunk before it is told.
    """
    program = family.program(seed)
    found = _found(family, program)
    if found is None:
        return None
    if smaller:
        kind = found.kind
        program = shrink(program, family.smaller, lambda p: _kind_of(_found(family, p, 2)) == kind)
        found = _found(family, program) or found
    return (
        f"{family.name} {seed} differs {found.text}\n\n{family.text(program).rstrip()}\n\n"
        f"replay: {replay(family, seed)}"
    )


def replay(family: Family[Any], seed: int) -> str:
    """The one command that plays a seed again, and shrinks its program."""
    module = "tests.differential.random"
    return f".venv/bin/python -m {module} {family.name} --seeds {seed}:{seed + 1} --shrink"


def _found(family: Family[Any], program: Any, tries: int | None = None) -> Found | None:
    try:
        found = family.compare(program, tries)
    except Exception as error:  # what a shrunk program may do; of a whole one it is told
        return Found(traceback.format_exc(), type(error).__name__)
    if found is None:
        return None
    lines = str(found).splitlines()
    return Found("\n".join(line[:WIDTH] for line in lines), _kind(found))


def _kind_of(found: Found | None) -> str | None:
    return found and found.kind


def _kind(found: Difference) -> str:
    """What tells one difference from another while a program shrinks: the key and what it holds."""
    keys = re.findall(r"\['([^']+)'\]", found.path.split(":")[0])
    lengths = " against " in found.path
    return f"{keys[-1:]} {lengths} {_what(found.oracle)} {_what(found.plait)}"


def _what(value: Any) -> str:
    if isinstance(value, dict) and "$error" in value:
        return value["$error"]
    return type(value).__name__
