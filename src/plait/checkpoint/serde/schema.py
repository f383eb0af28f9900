"""Which storable classes a type annotation names, directly or through what it is made of."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from inspect import isabstract
from types import FunctionType, ModuleType
from typing import Any, ForwardRef, TypeVar, cast, get_args, get_origin, get_type_hints

from plait.checkpoint.serde.own import own_name
from plait.checkpoint.serde.pydantic_values import is_pydantic_value
from plait.checkpoint.serde.shapes import is_content, is_model
from plait.common.reflection import own_annotations

_PLAIN = {
    *("abc", "annotated_types", "builtins", "collections", "dataclasses", "datetime", "decimal"),
    *("enum", "fractions", "ipaddress", "numbers", "pathlib", "pydantic", "re", "typing"),
    *("typing_extensions", "types", "uuid", "zoneinfo"),
}
"""Modules whose classes are known to the codec, or are too general to follow their subclasses."""


def named_types(tp: Any, names: Mapping[str, Any]) -> Iterator[type]:
    """Find the classes to register for an annotation.

    Args:
        tp: The annotation, schema or function.
        names: Extra names for forward references.

    Yields:
        Pydantic models, dataclasses, attrs classes, enums, named tuples, exceptions, what is built
        on str, dict and the like, and their loaded subclasses. Forward references that cannot be
        resolved are passed over: a value of such a type is refused by name when it is first
        written.
    """
    seen: set[int] = set()
    kept: list[Any] = []  # ids stay unique only while their objects live
    queue: list[tuple[Any, Mapping[str, Any]]] = [(tp, names)]
    while queue:
        item, scope = queue.pop()
        if isinstance(item, str | ForwardRef):
            item = _resolve(item, scope)
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        kept.append(item)
        if isinstance(item, type) and is_storable(cast("type[Any]", item)):
            yield item
        queue.extend(_parts(item, scope))


def _parts(item: Any, scope: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """What an annotation or a class is made of, each with the names that its own parts may use."""
    origin = get_origin(item)
    if origin is typing.Literal:
        yield from ((type(value), scope) for value in get_args(item))
    elif origin is not None:
        yield origin, scope
        for part in get_args(item):
            yield from ((p, scope) for p in (cast(Any, part) if isinstance(part, list) else [part]))
    elif isinstance(item, TypeVar):
        yield from ((part, scope) for part in (item.__bound__, *item.__constraints__))
    elif isinstance(item, FunctionType):
        yield from _hints(item, scope)
    elif isinstance(item, type):
        yield from _class_parts(cast("type[Any]", item), scope)
    else:  # NewType, and type aliases made by `type X = ...`
        for attribute in ("__supertype__", "__value__"):
            if hasattr(item, attribute):
                yield getattr(item, attribute), scope


def _class_parts(
    cls: type[Any], scope: Mapping[str, Any]
) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    if cls.__module__.partition(".")[0] in _PLAIN:
        return
    generic = cast(Any, cls).__dict__.get("__pydantic_generic_metadata__")
    if generic:
        yield from ((part, scope) for part in generic["args"])
    if issubclass(cls, Enum):  # a member is stored by its value
        yield from ((type(member.value), scope) for member in cls)
        return
    if _is_own(cls):
        yield from ((hint, scope) for hint in _own_hints(cls))
    else:
        yield from _hints(cls, scope)
    for base in getattr(cls, "__orig_bases__", ()):
        yield base, scope
    yield from ((subclass, scope) for subclass in cast("list[Any]", type.__subclasses__(cls)))


def _hints(owner: Any, scope: Mapping[str, Any]) -> Iterable[tuple[Any, Mapping[str, Any]]]:
    """The annotations of a class or function; those that resolve, if not all do."""
    declared: Any = getattr(owner, "__pydantic_fields__", None)
    if declared is not None and hasattr(owner, "__pydantic_generic_metadata__"):
        extra = own_annotations(owner).get("__pydantic_extra__")  # pydantic leaves it as written
        hints = [(field.annotation, scope) for field in declared.values()]
        return [*hints, (extra, _around(owner, scope))]
    try:
        return [(hint, scope) for hint in get_type_hints(owner, None, dict(scope), True).values()]
    except Exception:  # any code may stand in an annotation
        inner = _around(owner, scope)
        return [(hint, inner) for hint in own_annotations(owner).values()]


def _around(owner: Any, scope: Mapping[str, Any]) -> Mapping[str, Any]:
    """The names that annotations of a class or function may use: its module's, too."""
    module = sys.modules.get(owner.__module__)
    return {**(vars(module) if isinstance(module, ModuleType) else {}), **scope}


def _is_own(cls: type[Any]) -> bool:
    """Whether a class stands in a module of plait (and was not made by one at run time)."""
    module = cls.__module__
    return module.startswith("plait.") and getattr(sys.modules[module], cls.__name__, None) is cls


@cache
def _own_hints(cls: type[Any]) -> list[Any]:
    """The annotations of a class of plait itself: the same for every graph."""
    return [
        _resolve(hint, scope) if isinstance(hint, str | ForwardRef) else hint
        for hint, scope in _hints(cls, {})
    ]


def _resolve(reference: str | ForwardRef, scope: Mapping[str, Any]) -> Any:
    text = reference if isinstance(reference, str) else reference.__forward_arg__
    evaluate: Callable[..., Any] = get_type_hints
    holder = type("_Holder", (), {"__annotations__": {"it": text}})
    try:
        return evaluate(holder, dict(scope), dict(scope), include_extras=True)["it"]
    except Exception:
        return None


def is_storable(cls: type[Any]) -> bool:
    """Whether objects of a class may be stored once a schema names it."""
    if is_pydantic_value(cls):
        return True
    module = cls.__module__
    if module.partition(".")[0] in _PLAIN or module.startswith("langchain_core.messages"):
        return False
    if isabstract(cls) or own_name(cls):
        return False
    return (
        issubclass(cls, Enum | BaseException)
        or hasattr(cls, "__dataclass_fields__")
        or hasattr(cls, "__attrs_attrs__")
        or hasattr(cls, "__plait_state__")
        or hasattr(cls, "_fields")
        or is_model(cls)
        or is_content(cls)
    )
