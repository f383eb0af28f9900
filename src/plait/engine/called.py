"""Which tasks the code of a node or workflow calls, for which types may be stored.

They are looked for where names lead: `fetch`, `module.fetch`, `self.fetch`, `TASKS["fetch"]`, and
in functions of the program that the code calls; in modules that it imports, if they are loaded.
Nothing is run for it, properties neither.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from plait.engine.mentioned import functions_of, mentioned, names_in
from plait.engine.plan import NodePlan

_DEPTH = 3
"""How many attributes lead from a name to a task, at most: `package.module.tasks.fetch`."""

_MANY = 100
"""Collections of more items are no registers of tasks."""

_IMPORT = dis.opmap["IMPORT_NAME"]

_FUNCTIONS = 500
"""After so many functions the search ends: a node may lead to all code of a large program."""


class Made:
    """Whether this process has made tasks: where there are none, nobody need look for them."""

    tasks = False


def tasks_called(code: Any) -> Iterator[Any]:
    """The functions of the `@task`s that some code mentions, and that those mention."""
    packages = {_package(function) for function, _ in functions_of(code)}
    seen: dict[tuple[int, int], Any] = {}  # ids stay unique only while their objects live
    todo = [code]
    while todo and len(seen) < _FUNCTIONS:
        for value in _reached(todo.pop()):
            is_task = isinstance(_held(value).get("plan"), NodePlan)
            follows = value.func if is_task else value
            if not is_task and not _is_of_program(value, packages):
                continue
            function = getattr(follows, "__func__", follows)
            key = (id(function), id(getattr(follows, "__self__", None)))
            if key not in seen:
                seen[key] = follows
                todo.append(follows)
                if is_task:
                    yield follows


def _is_of_program(value: Any, packages: set[str]) -> bool:
    """Whether it is a function of the packages that ask, or of none that is installed."""
    function = getattr(value, "__func__", None) if isinstance(value, MethodType) else value
    if not isinstance(function, FunctionType):
        return False
    package = _package(function)
    installed = package in sys.stdlib_module_names or package == "plait"
    return package in packages or not (installed or "-packages" in function.__code__.co_filename)


def _package(function: FunctionType) -> str:
    return function.__module__.partition(".")[0]


def _reached(code: Any) -> Iterator[Any]:
    """What the names in some code stand for: on their own, and as attributes of each other."""
    functions = list(functions_of(code))
    names = {name for function, _ in functions for name in names_in(function.__code__)}
    owners = [owner for _, owner in functions if owner is not None]
    modules = [one for function, _ in functions for one in _imported(function.__code__, function)]
    for value in (*mentioned(code), *owners, *modules):
        yield from _with_parts(value, names, _DEPTH)


def _imported(code: CodeType, function: FunctionType) -> Iterator[ModuleType]:
    """The modules that a function imports when it runs, as far as they are loaded already."""
    imports = _IMPORT in code.co_code[::2]  # most functions import nothing
    steps = [*dis.get_instructions(code)] if imports else []
    for level, _, step in zip(steps, steps[1:], steps[2:], strict=False):
        if step.opname == "IMPORT_NAME":
            package = function.__globals__.get("__package__") or ""
            above = package.rsplit(".", level.argval - 1)[0] if level.argval else ""
            name = ".".join(filter(None, (above, step.argval)))
            if isinstance(module := sys.modules.get(name), ModuleType):
                yield module
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _imported(const, function)


def _with_parts(value: Any, names: set[str], depth: int) -> Iterator[Any]:
    yield value
    if depth:
        for part in _parts(value, names):
            yield from _with_parts(part, names, depth - 1)


def _parts(value: Any, names: set[str]) -> Iterator[Any]:
    """What a value holds under one of the names or, if it is a collection or partial, at all."""
    if isinstance(value, partial):
        whole = cast("partial[Any]", value)
        yield from (whole.func, *whole.args, *whole.keywords.values())
        return
    if isinstance(value, dict | list | tuple | set | frozenset):
        items = cast("Any", value.values() if isinstance(value, dict) else value)
        yield from items if len(items) <= _MANY else ()
        return
    spaces: list[Mapping[str, Any]] = [_held(value)]
    if not isinstance(value, ModuleType | FunctionType | MethodType):
        kind = cast("type[Any]", value if isinstance(value, type) else type(value))
        spaces += [vars(one) for one in kind.__mro__]
    for name in names:
        part = next((space[name] for space in spaces if name in space), None)
        if isinstance(part, staticmethod | classmethod):
            part = cast("Any", part).__func__
        if isinstance(part, FunctionType) and not isinstance(value, ModuleType):
            part = MethodType(part, value)
        if part is not None:
            yield part


def _held(value: Any) -> Mapping[str, Any]:
    """The attributes of an object itself, without asking its class for any."""
    try:
        return cast("Mapping[str, Any]", object.__getattribute__(value, "__dict__"))
    except AttributeError:
        return {}
