"""Which graph runs inside a node: the node itself, or one that the node's code mentions; and which
tasks the code of a node or workflow calls.

Only for looking at graphs and threads (`get_subgraphs`, and the states of nested graphs), and for
which types may be stored. What a run does never depends on it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from types import CodeType
from typing import Any, cast

from plait.engine.plan import GraphPlan, NodePlan
from plait.reflection import is_routine

RUNS = frozenset({"invoke", "ainvoke", "stream", "astream", "batch", "abatch"})
"""The methods that run a graph: code that calls none of them runs none."""


def graph_inside(node: NodePlan) -> Any:
    """The compiled graph that a node runs and whose checkpoints it may keep, or None."""
    if not node.inside:
        node.inside.append(_looked_for(node))
    return node.inside[0]


def _looked_for(node: NodePlan) -> Any:
    if node.subgraph is not None:
        return node.subgraph
    for value in _mentioned(node.code, RUNS):
        own = _is_graph(value) and any(node is other for other in value.plan.nodes.values())
        if _is_graph(value) and not own and value.checkpointer is not False:
            return value
    return None


def _is_graph(value: Any) -> bool:
    return isinstance(getattr(value, "plan", None), GraphPlan) and hasattr(value, "checkpointer")


def tasks_called(code: Any) -> Iterator[Any]:
    """The functions of the `@task`s that some code mentions, and that those mention."""
    seen: set[Any] = set()
    todo = [code]
    while todo:
        for value in _mentioned(todo.pop()):
            function = getattr(value, "func", None)
            if isinstance(getattr(value, "plan", None), NodePlan) and id(function) not in seen:
                seen.add(id(function))
                todo.append(function)
                yield function


def _mentioned(code: Any, calling: frozenset[str] = frozenset()) -> Iterator[Any]:
    """What the names in a function stand for, as far as that can be seen; if `calling` is not
    empty: of a function that mentions one of these names."""
    if isinstance(code, partial):
        whole = cast("partial[Any]", code)
        yield from (*whole.args, *whole.keywords.values())
        yield from _mentioned(whole.func, calling)
        return
    for form in ("func", "afunc"):  # a runnable made of functions
        inner = getattr(code, form, None)
        if is_routine(inner):
            yield from _mentioned(inner, calling)
    if not is_routine(code):
        code = getattr(code, "__call__", None)  # noqa: B004
    owner = getattr(code, "__self__", None)
    function = inspect.unwrap(getattr(code, "__func__", code)) if code is not None else None
    if not inspect.isfunction(function):
        return
    names = set(_names(function.__code__))
    if calling and names.isdisjoint(calling):
        return  # it may look at a graph, but runs none
    yield from _captured(function)
    for name in sorted(names):
        if name in function.__globals__:
            yield function.__globals__[name]
        elif owner is not None:
            yield getattr(owner, "__dict__", {}).get(name)


def _captured(function: Any) -> Iterator[Any]:
    """What a function closes over, and its defaults."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def _names(code: CodeType) -> Iterator[str]:
    """Every name in a function's code and in the functions written inside it."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)
