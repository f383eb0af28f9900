"""Which nodes are reached, and whether code could route by itself (it mentions Command or Send).

Only for the warnings about nodes that nothing leads to. Where it cannot be seen, it could.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from plait.common.reflection import is_routine
from plait.constants import START
from plait.types import Command, Send

if TYPE_CHECKING:
    from plait.graph.state import StateGraph

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
    if not is_routine(function):
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


def reached_nodes(builder: StateGraph[Any]) -> set[str]:
    """The nodes that edges, declared ends and joins lead to from the start."""
    ends: dict[str, list[str]] = {}
    for start, end in builder.edges:
        ends.setdefault(start, []).append(end)
    joins: dict[str, list[tuple[set[str], str]]] = {}
    for starts, end in builder.waiting_edges:
        missing = set(starts)
        for start in missing:
            joins.setdefault(start, []).append((missing, end))
    reached: set[str] = set()
    todo = [START]
    while todo:
        name = todo.pop()
        if name in reached:
            continue
        reached.add(name)
        todo.extend(ends.get(name, ()))
        for branch in builder.branches.get(name, {}).values():
            todo.extend((branch.ends or {}).values())
        spec = builder.nodes.get(name)
        todo.extend(spec.ends if spec is not None else ())
        for missing, end in joins.get(name, ()):
            missing.discard(name)
            if not missing:
                todo.append(end)
    return reached
