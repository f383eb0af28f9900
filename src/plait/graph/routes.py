"""Whether code could route by itself: does a function, or what it calls, mention Command or Send?

Only for the warnings about nodes that nothing leads to. Where it cannot be seen, it could.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from types import CodeType
from typing import Any, cast

from plait.types import Command, Send

_DEPTH = 4
"""How many calls deep functions are followed."""


def may_route(function: Any, depth: int = _DEPTH) -> bool:
    """Whether what a node runs may return a Command or a Send.

    >>> may_route(lambda state: {"text": "done"})
    False
    >>> may_route(lambda state: Command(goto="next"))
    True
    """
    if isinstance(function, partial):
        return may_route(cast("Any", function).func, depth)
    builder = getattr(function, "builder", None)
    if builder is not None:  # a compiled graph: its nodes may send Commands to their parent
        return any(spec.may_route for spec in builder.nodes.values())
    if not inspect.isroutine(function):
        function = getattr(cast("Any", type(function)), "__call__", None)  # noqa: B004
    code = getattr(function, "__code__", None)
    if code is None or depth == 0:
        return True
    return any(_routes(value, depth) for value in _mentioned(function, code))


def _routes(value: Any, depth: int) -> bool:
    if value is Command or value is Send or isinstance(value, (Command, Send)):
        return True
    return inspect.isfunction(value) and may_route(value, depth - 1)


def _mentioned(function: Any, code: CodeType) -> Iterator[Any]:
    """What the names in a function stand for, as far as that can be seen."""
    scope = function.__globals__
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet: a function that calls itself
            continue
    yield from function.__defaults__ or ()
    codes = [code]
    while codes:
        one = codes.pop()
        codes.extend(const for const in one.co_consts if isinstance(const, CodeType))
        for name in one.co_names:
            # `types.Command` mentions the attribute; `from x import Command` inside, the name.
            yield Command if name in ("Command", "Send") else scope.get(name)
