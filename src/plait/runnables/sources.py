"""What functions are made of, for people and for graphs: their text, the values that they use."""

import ast
import dis
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, cast

from plait.runnables.calling import code_of

_OF_OBJECT = ("LOAD_ATTR", "LOAD_METHOD")
"""Since Python 3.12 the first of them alone."""


def shown(func: Any) -> str:
    """A function for people: its name, the text of a lambda, or what an `itemgetter` gets.

    >>> shown(len), shown(object()), shown(itemgetter("a", "b"))
    ('len', '...', "itemgetter('a', 'b')")
    """
    if isinstance(func, itemgetter):
        return repr(cast("Any", func)).removeprefix("operator.")
    name = getattr(func, "__name__", "...")
    return lambda_text(func) or "..." if name == "<lambda>" else name


def lambda_text(func: Any) -> str | None:
    """The text of a lambda, if it can be told from others on its lines."""
    try:
        text = textwrap.dedent(inspect.getsource(func)).strip()
    except (OSError, TypeError):
        return None
    for candidate in (text, text[text.find("lambda") :]):
        try:
            tree = ast.parse(candidate)
        except SyntaxError:
            continue
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
        return ast.unparse(found[0]) if len(found) == 1 else None
    return None


def used_values(func: Any) -> list[Any]:
    """The values of the globals and outer variables that a function names, and what they hold.

    Of `outer.inner`, the value of the attribute.
    """
    return _each_once(value for value, _ in _named(func))


def nonlocals(func: Any) -> list[Any]:
    """What `used_values` gives, without the objects of which only an attribute is named."""
    named = [*_named(func), (None, False)]
    return _each_once(value for (value, _), (_, of_it) in pairwise(named) if not of_it)


def _each_once(values: Iterable[Any]) -> list[Any]:
    once: list[Any] = []
    for value in values:
        if not any(value is known for known in once):
            once.append(value)
    return once


def _named(func: Any) -> Iterator[tuple[Any, bool]]:
    """The values that a function names, and whether one is an attribute of the one before."""
    while hasattr(func, "func"):  # a partial
        func = func.func
    func = getattr(func, "__func__", func)
    code = code_of(func)
    if code is None or not hasattr(func, "__globals__"):
        return
    cells = dict(zip(code.co_freevars, func.__closure__ or (), strict=True))
    missing = object()
    value: Any = missing
    for step in dis.get_instructions(code):
        of_it = False
        if step.opname == "LOAD_GLOBAL":
            value = func.__globals__.get(step.argval, missing)
        elif step.opname == "LOAD_DEREF" and step.argval in cells:
            try:
                value = cells[step.argval].cell_contents
            except ValueError:  # not bound yet
                value = missing
        elif step.opname in _OF_OBJECT and value is not missing:
            value, of_it = getattr(value, step.argval, missing), True
        else:
            value = missing
        if value is not missing:
            yield value, of_it


def keys_read(func: Any) -> list[str]:
    """The keys that a function reads of its first parameter: `x["key"]`, `x.get("key")`.

    >>> keys_read(lambda x: x["a"] + x.get("b", 1))
    ['a', 'b']
    """
    if isinstance(func, itemgetter):
        items = cast("tuple[Any, ...]", func.__reduce__()[1])
        return sorted(item for item in items if isinstance(item, str))
    code = code_of(func)
    if code is None or not code.co_argcount:
        return []
    first = code.co_varnames[1 if hasattr(func, "__self__") else 0]
    steps = list(dis.get_instructions(code))
    keys: set[str] = set()
    for at, step in enumerate(steps):
        if not _loads(step, first):
            continue
        after = steps[at + 1 : at + 5]
        names = [one.opname for one in after]
        if names[:1] == ["LOAD_CONST"] and _looks_up(after[1]):
            keys.add(after[0].argval)
        elif names[0] in _OF_OBJECT and after[0].argval == "get" and "LOAD_CONST" in names:
            keys.add(after[names.index("LOAD_CONST")].argval)
    return sorted(key for key in keys if isinstance(cast("Any", key), str))


def _loads(step: dis.Instruction, name: str) -> bool:
    """Whether a step puts a local variable on top of the stack: since Python 3.13 perhaps two."""
    loaded: Any = step.argval
    return step.opname.startswith("LOAD_FAST") and name == (
        loaded if isinstance(loaded, str) else loaded[-1]
    )


def _looks_up(step: dis.Instruction) -> bool:
    """Whether a step is `x[y]`: since Python 3.14 one of the binary operators."""
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")


__all__ = ["keys_read", "lambda_text", "shown", "used_values"]
