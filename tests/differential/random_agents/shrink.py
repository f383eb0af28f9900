"""Makes a program smaller while it still shows a difference."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

Program = dict[str, Any]
KEPT = {
    "family",
    "name",
    "do",
    "script",
    "actions",
    "model",
    "tools",
    "kind",
    "args",
    "id",
    "error",
    "options",
    "system_prompt",
    "blocks",
}
"""Keys without which a program is none."""
WHOLE = {"args", "blocks", "input", "profile", "values"}
"""Keys whose values are left as they are."""


def shrink(program: Program, differs: Callable[[Program], bool], tries: int = 150) -> Program:
    """The smallest program found that still differs.

    Args:
        program: one that differs.
        differs: tells whether another still does.
        tries: how many programs are tried at most.
    """
    left = tries
    progress = True
    while progress and left > 0:
        progress = False
        for smaller in _smaller(program):
            left -= 1
            if left < 0:
                break
            if differs(smaller):
                program, progress = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    """Each program with one item or option less, the largest parts first."""
    paths = sorted(_paths(program, ()), key=len)
    for path in paths:
        found = copy.deepcopy(program)
        holder: Any = found
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]
        yield found


def _paths(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in KEPT:
                yield (*path, key)
            if key in WHOLE:
                continue
            yield from _paths(item, (*path, key))
    elif isinstance(value, list):
        for index in reversed(range(len(value))):
            yield (*path, index)
            yield from _paths(value[index], (*path, index))
