"""What the arguments of a call look like: a digest that is equal in every process.

The journal of a task's calls tells by it whether a call is the one that was recorded. It takes
what plait can store by content, and what it cannot (a client, a lock, the `self` of a method) by
its class alone. It does not see what a store may change: tuples and lists are alike, dicts and sets
have no order, and a class that has moved is the one whose name it is registered under.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from operator import itemgetter
from typing import Any, cast

ATOMS = frozenset({type(None), bool, int, float, str, bytes})
MAX_DEPTH = 60
"""Deeper than this, values are taken by their class: a value may contain itself."""
_BY_TEXT = frozenset({"datetime", "uuid", "decimal", "fractions", "pathlib", "zoneinfo"})
"""Modules of plain types whose text says all."""
_LISTS = (list, tuple)
NAMED: dict[type, str] = {}
"""Classes that the program has named for what is stored: they are known by that name alone."""
_MANY = 8
"""From how many items on it pays to look at them together."""
_PAIR = "%r:%r".__mod__


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


def home_of(thing: Any) -> str:
    """The module of a class or function; workers of multiprocessing call that of the script by
    another name, and mean the same."""
    module = getattr(thing, "__module__", "")
    return "__main__" if module == "__mp_main__" else module


def _text(value: Any, depth: int) -> str:
    cls: Any = value.__class__
    if cls in ATOMS:
        return repr(value)
    if depth < MAX_DEPTH:
        if cls in _LISTS:
            return _sequence(value, depth)
        if cls is dict:
            return _mapping(value, depth)
        try:
            content = _content(value, cls, depth + 1)
        except Exception:  # an object that cannot be looked at is taken by its class
            content = ""
    else:
        content = ""
    return f"<{NAMED.get(cls) or f'{home_of(cls)}.{cls.__qualname__}'} {content}>"


def _sequence(items: Sequence[Any], depth: int) -> str:
    cls: Any = type(items)
    if cls in _LISTS and len(items) >= _MANY:
        text = _of_many(items, depth)
        if text is not None:
            return text
    deeper = depth + 1
    texts = [repr(i) if i.__class__ in ATOMS else _text(i, deeper) for i in items]
    return f"[{','.join(texts)}]"


def _of_many(items: Sequence[Any], depth: int) -> str | None:
    """The same text, made in C, of many atoms or of many dicts of atoms with the same keys."""
    kinds = set(map(type, items))
    if kinds <= ATOMS:
        return f"[{','.join(map(repr, items))}]"
    if kinds != {dict} or depth + 1 >= MAX_DEPTH:
        return None
    alike: set[tuple[Any, ...]] = set(map(tuple, items))
    names = alike.pop()
    if alike or len(names) < 2 or set(map(type, chain.from_iterable(items))) != {str}:
        return None
    # No text of a key begins another's, so that keys in order are pairs in order.
    ordered = sorted(names, key=repr)
    values = (*chain.from_iterable(map(itemgetter(*ordered), items)),)
    if not ATOMS.issuperset(map(type, values)):
        return None
    pairs = ",".join([repr(name).replace("%", "%%") + ":%r" for name in ordered])
    return f"[{','.join([f'{{{pairs}}}'] * len(items))}]" % values


def _mapping(items: Mapping[Any, Any], depth: int) -> str:
    cls: Any = type(items)
    many = cls is dict and len(items) >= _MANY
    if many and ATOMS.issuperset(map(type, chain(items, items.values()))):  # the same, in C
        return f"{{{','.join(sorted(map(_PAIR, items.items())))}}}"
    deeper = depth + 1
    pairs = [
        f"{repr(k) if k.__class__ in ATOMS else _text(k, deeper)}:"
        f"{repr(v) if v.__class__ in ATOMS else _text(v, deeper)}"
        for k, v in items.items()
    ]
    return f"{{{','.join(sorted(pairs))}}}"


def _content(value: Any, cls: type[Any], depth: int) -> str:
    """What makes an object of a class the one it is ("": nothing that is known)."""
    name = getattr(value, "__qualname__", None)
    if name is not None:  # a function, a method, a class
        return f"{home_of(value)}.{name}"
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
        return _sequence(cast("Sequence[Any]", value), depth)
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


__all__ = ["NAMED", "home_of", "likeness"]
