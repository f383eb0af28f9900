"""What the names in a function stand for, as far as that can be seen without running it."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Any, cast

from plait.common.reflection import is_routine

_AROUND = ("bound", "runnable")
"""Where a runnable has the one that it is put around."""

_PLAIN = frozenset({str, bytes, int, float, bool, list, tuple, dict, set, frozenset})
"""Kinds of values that lead nowhere."""

_PARTS = frozenset(
    {*_AROUND, "steps", "steps__", "mapper", "fallbacks", "branches", "default", "runnables"}
)
"""Where a runnable has what it is made of."""


def mentioned(code: Any) -> Iterator[Any]:
    """What the names in a function, or in those that it is made of, stand for."""
    yield from _given(code)
    for function, owner in functions_of(code):
        yield from _named(function, owner, sorted({*names_in(function.__code__)}))


def reached(code: Any, calling: frozenset[str]) -> Iterator[Any]:
    """What the names in a function that mentions one of `calling` stand for, and what its other
    names lead to from there: `agents.writer.graph`."""
    yield from _given(code)
    for function, owner in functions_of(code):
        names = sorted({*names_in(function.__code__)})
        if calling.isdisjoint(names):
            continue  # it may look at a graph, but runs none
        seen: set[int] = set()
        waiting = deque(_named(function, owner, names))
        while waiting:
            value = waiting.popleft()
            if id(value) not in seen:
                seen.add(id(value))
                yield value
                waiting.extend(_attributes(value, names))


def _given(code: Any) -> Iterator[Any]:
    """The arguments that a partial has."""
    if isinstance(code, partial):
        whole = cast("partial[Any]", code)
        yield from (*whole.args, *whole.keywords.values())


def _named(function: FunctionType, owner: Any, names: Sequence[str]) -> Iterator[Any]:
    """What a function closes over, and what its names stand for."""
    yield from _captured(function)
    for name in names:
        if name in function.__globals__:
            yield function.__globals__[name]
        elif owner is not None:
            yield getattr(owner, "__dict__", {}).get(name)


def _attributes(value: Any, names: Sequence[str]) -> Iterator[Any]:
    """What an object, class or module has under these names; nothing is run for it."""
    if value is None or is_routine(value) or type(value) in _PLAIN:
        return
    for name in names:
        found = inspect.getattr_static(value, name, None)
        if found is not None:
            yield found


def innermost(runnable: Any) -> Any:
    """What is left of a runnable without what is bound to it, retries it or stands in for it."""
    while (held := _held(runnable)).keys() & _AROUND:
        runnable = next(held[name] for name in _AROUND if name in held)
    return runnable


def parts_of(runnable: Any) -> Iterator[Any]:
    """What a runnable is made of: steps of a chain, branches, what is bound or stands in."""
    for value in (value for name, value in _held(runnable).items() if name in _PARTS):
        yield from _flat(value)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from cast("dict[Any, Any]", value).values()
    elif isinstance(value, list | tuple):
        for each in cast("Sequence[Any]", value):
            yield from _flat(each)
    else:
        yield value


def _held(value: Any) -> Mapping[str, Any]:
    """The attributes of a runnable itself, not those that it borrows of what it is around."""
    runs = callable(getattr(cast("type[Any]", type(value)), "invoke", None))
    return cast("Mapping[str, Any]", getattr(value, "__dict__", {})) if runs else {}


def functions_of(code: Any) -> Iterator[tuple[FunctionType, Any]]:
    """The functions that run where a node's code runs, each with the object whose method it is."""
    if isinstance(code, partial):
        yield from functions_of(cast("partial[Any]", code).func)
        return
    for form in ("func", "afunc"):  # a runnable made of functions
        inner = getattr(code, form, None)
        if is_routine(inner):
            yield from functions_of(inner)
    for part in parts_of(code):
        yield from functions_of(part)
    if not is_routine(code):
        code = getattr(code, "__call__", None)  # noqa: B004
    owner = getattr(code, "__self__", None)
    function = inspect.unwrap(getattr(code, "__func__", code)) if code is not None else None
    if inspect.isfunction(function):
        yield function, owner


def names_in(code: CodeType) -> Iterator[str]:
    """Every name in a function's code and in the functions written inside it."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from names_in(const)


def _captured(function: Any) -> Iterator[Any]:
    """What a function closes over, and its defaults."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
