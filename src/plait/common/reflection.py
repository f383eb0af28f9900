"""What Python tells of classes, functions and what they give, the same on every version of it.

Since Python 3.14 an annotation is evaluated when somebody asks for it (PEP 649). One that names
what only type checkers import, or what is defined later, fails then. Asked for here it does not: it
is its text, as all of them are under `from __future__ import annotations`.
"""

import inspect
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, ForwardRef, get_origin, get_type_hints

from plait.errors import AnnotationError

_LAZY = sys.version_info >= (3, 14)
_QUALIFIERS = frozenset({"Required", "NotRequired", "ReadOnly"})
_LATE: Any = import_module("annotationlib") if _LAZY else None


def own_annotations(kind: Any) -> dict[str, Any]:
    """What a class itself, or a function, is annotated with; a new dict.

    >>> class Point:
    ...     x: int
    ...     y: "Later"
    >>> own_annotations(Point)
    {'x': <class 'int'>, 'y': 'Later'}
    """
    if not _LAZY:
        return inspect.get_annotations(kind)
    found: dict[str, Any] = _LATE.get_annotations(kind, format=_LATE.Format.FORWARDREF)
    return {name: _told(hint) for name, hint in found.items()}


def resolved_annotations(kind: Any) -> dict[str, Any]:
    """What a class with all its bases, or a function, is annotated with: types, not their names.

    Raises:
        AnnotationError: A name in it does not exist.

    >>> class Point:
    ...     x: "int"
    >>> resolved_annotations(Point)
    {'x': <class 'int'>}
    """
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise AnnotationError(
            f"A type annotation of {kind.__qualname__} cannot be resolved: {error}. Names used in "
            "annotations that plait reads must exist in their module (not only under "
            "TYPE_CHECKING, nor only inside a function)."
        ) from error


def known_annotations(function: Any) -> dict[str, Any]:
    """`resolved_annotations` of a function; one that names what does not exist stays a text.

    >>> def add(a: "int", b: "Missing"): ...
    >>> known_annotations(add)
    {'a': <class 'int'>, 'b': 'Missing'}
    """
    try:
        return resolved_annotations(function)
    except AnnotationError:
        space = getattr(inspect.unwrap(function), "__globals__", {})
        return {name: _known(name, hint, space) for name, hint in own_annotations(function).items()}


def _known(name: str, hint: Any, space: dict[str, Any]) -> Any:
    def alone() -> None:
        """One annotation, so that it does not fail with the others."""

    alone.__annotations__ = {name: hint}
    try:
        return get_type_hints(alone, space, include_extras=True)[name]
    except NameError:
        return hint


def is_annotated(kind: Any) -> bool:
    """Whether it is a class written in Python, which can have annotations: one of builtins, as a
    schema, is the type of one value.

    >>> is_annotated(ForwardRef), is_annotated(int)
    (True, False)
    """
    try:
        return isinstance(kind, type) and hasattr(kind, "__annotations__")
    except NameError:  # it has: here they were evaluated
        return True


def unqualified(hint: Any) -> Any:
    """An annotation without `Required`, `NotRequired` and `ReadOnly` around it.

    >>> from typing import List, NotRequired
    >>> unqualified(NotRequired[int]), unqualified(List)
    (<class 'int'>, typing.List)
    """
    while (origin := get_origin(hint)) is not None and (
        getattr(origin, "_name", None) in _QUALIFIERS
        or getattr(origin, "__name__", None) in _QUALIFIERS
    ):
        hint = hint.__args__[0]
    return hint


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a callable.

    Raises:
        TypeError: it is no callable.
        ValueError: it is a builtin whose signature Python does not tell.
    """
    if not _LAZY:
        return inspect.signature(function)
    ask: Any = inspect.signature
    found: inspect.Signature = ask(function, annotation_format=_LATE.Format.FORWARDREF)
    return found.replace(
        parameters=[
            one.replace(annotation=_told(one.annotation)) for one in found.parameters.values()
        ],
        return_annotation=_told(found.return_annotation),
    )


def is_routine(value: Any) -> bool:
    """Whether it is a function or a method. A partial is none, also where it binds as one (3.14).

    >>> is_routine(len), is_routine(partial(len))
    (True, False)
    """
    return not isinstance(value, partial) and inspect.isroutine(value)


def is_unawaited(result: Any) -> bool:
    """Whether somebody should have awaited a result. If it is a coroutine it is closed: whoever
    asks raises an error, and Python would tell of it once more, later and elsewhere.

    >>> is_unawaited("done")
    False
    """
    if inspect.iscoroutine(result):
        result.close()
    return inspect.isawaitable(result)


def binds(value: Any) -> bool:
    """Whether a class does not hold it as a value, but gives something else when it is asked for:
    a method, a property. A partial is a value, also in 3.14."""
    return hasattr(value, "__get__") and not isinstance(value, partial)


def _told(hint: Any) -> Any:
    return hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint
