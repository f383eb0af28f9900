"""What the arguments of a call look like: a digest that is equal in every process.

The journal of a task's calls tells by it whether a call is the one that was recorded. It takes
what plait can store by content, and what it cannot (a client, a lock, the `self` of a method) by
its class alone. It does not see what a store may change: tuples and lists are alike, dicts and sets
have no order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, cast

ATOMS = frozenset({type(None), bool, int, float, str, bytes})
MAX_DEPTH = 60
"""Deeper than this, values are taken by their class: a value may contain itself."""
_BY_TEXT = frozenset({"datetime", "uuid", "decimal", "fractions", "pathlib", "zoneinfo"})
"""Modules of plain types whose text says all."""


def likeness(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """16 hex digits that stand for the arguments of a call.

    >>> likeness((1, ["a"]), {"b": 2, "c": 3}) == likeness((1, ("a",)), {"c": 3, "b": 2})
    True
    >>> likeness((1,), {}) == likeness((True,), {}), likeness((1,), {}) == likeness((2,), {})
    (False, False)
    """
    if not kwargs and ATOMS.issuperset(map(type, args)):
        text = repr(args)
    else:
        text = f"{_sequence(args, 0)}{_mapping(kwargs, 0)}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _text(value: Any, depth: int) -> str:
    cls: Any = value.__class__
    if cls in ATOMS:
        return repr(value)
    if depth < MAX_DEPTH:
        if cls in (list, tuple):
            return _sequence(value, depth)
        if cls is dict:
            return _mapping(value, depth)
        try:
            content = _content(value, cls, depth + 1)
        except Exception:  # an object that cannot be looked at is taken by its class
            content = ""
    else:
        content = ""
    return f"<{cls.__module__}.{cls.__qualname__} {content}>"


def _sequence(items: Iterable[Any], depth: int) -> str:
    return f"[{','.join([_text(item, depth + 1) for item in items])}]"


def _mapping(items: Mapping[Any, Any], depth: int) -> str:
    pairs = [f"{_text(k, depth + 1)}:{_text(v, depth + 1)}" for k, v in items.items()]
    return f"{{{','.join(sorted(pairs))}}}"


def _content(value: Any, cls: type[Any], depth: int) -> str:
    """What makes an object of a class the one it is ("": nothing that is known)."""
    name = getattr(value, "__qualname__", None)
    if name is not None:  # a function, a method, a class
        return f"{getattr(value, '__module__', '')}.{name}"
    state = getattr(cls, "__plait_state__", None)
    if state is not None:  # plait's messages
        return _text(state(value), depth)
    if cls.__module__.partition(".")[0] in _BY_TEXT:
        return str(value)
    if hasattr(cls, "__members__"):  # an enum
        return _text(value.value, depth)
    for fields in ("__pydantic_fields__", "__dataclass_fields__"):
        names = getattr(cls, fields, None)
        if names is not None:
            return _mapping({name: getattr(value, name, None) for name in names}, depth)
    return _of_builtin(value, depth)


def _of_builtin(value: Any, depth: int) -> str:
    """The content of what is built on a container or an atom, and of arrays."""
    if isinstance(value, (list, tuple)):
        return _sequence(cast("Iterable[Any]", value), depth)
    if isinstance(value, Mapping):
        return _mapping(cast("Mapping[Any, Any]", value), depth)
    if isinstance(value, (set, frozenset)):
        return ",".join(sorted(_text(item, depth) for item in cast("Iterable[Any]", value)))
    for atom in (str, bytes, int, float):
        if isinstance(value, atom):
            return repr(atom(value))  # pyright: ignore[reportArgumentType]
    if isinstance(value, bytearray):
        return repr(bytes(value))
    if hasattr(value, "__array_interface__"):
        whole = blake2b(value.tobytes(), digest_size=8).hexdigest()
        return f"{value.dtype} {value.shape} {whole}"
    if isinstance(value, (complex, BaseException)):
        return repr(value)
    return ""


__all__ = ["likeness"]
