"""What the names in a function stand for, as far as that can be seen without running it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any, cast

from plait.reflection import is_routine


def mentioned(code: Any, calling: frozenset[str] = frozenset()) -> Iterator[Any]:
    """What the names in a function, or in those that it is made of, stand for; if `calling` is not
    empty: of a function that mentions one of these names."""
    if isinstance(code, partial):
        whole = cast("partial[Any]", code)
        yield from (*whole.args, *whole.keywords.values())
    for function, owner in functions_of(code):
        names = set(names_in(function.__code__))
        if calling and names.isdisjoint(calling):
            continue  # it may look at a graph, but runs none
        yield from _captured(function)
        for name in sorted(names):
            if name in function.__globals__:
                yield function.__globals__[name]
            elif owner is not None:
                yield getattr(owner, "__dict__", {}).get(name)


def functions_of(code: Any) -> Iterator[tuple[FunctionType, Any]]:
    """The functions that run where a node's code runs, each with the object whose method it is."""
    if isinstance(code, partial):
        yield from functions_of(cast("partial[Any]", code).func)
        return
    for form in ("func", "afunc"):  # a runnable made of functions
        inner = getattr(code, form, None)
        if is_routine(inner):
            yield from functions_of(inner)
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
