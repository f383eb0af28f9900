"""JSON schemas of plain signatures, kept: the same few types are described again and again.

An agent that is built for each request describes its tools for each request. What is plain (the
built-in types, their containers and unions, literals) is described the same way each time; what
names classes of the user's may have changed, and is described anew.
"""

from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
)

from plait.tools.signatures import MISSING

Json: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[Any, ...]

_LEAVES: frozenset[Any] = frozenset(
    (str, int, float, bool, bytes, NoneType, None, list, dict, set, tuple, frozenset)
)
_ORIGINS: frozenset[Any] = frozenset(
    (list, dict, set, tuple, frozenset, Union, UnionType, Required, NotRequired)
)
_VALUES = frozenset((str, int, float, bool, NoneType, type(...)))
_MOST = 1024
_kept: dict[Key, Json] = {}


def described(key: Key | None, describe: Callable[[], Json]) -> Json:
    """The JSON schema that `describe` makes, or a copy of the one it made for this key before.

    Args:
        key: Says all that the schema depends on (None: nobody knows, and nothing is kept).
        describe: Makes it.
    """
    if key is None:
        return describe()
    known = _kept.get(key)
    if known is None:
        known = describe()
        if len(_kept) >= _MOST:
            _kept.clear()
        _kept[key] = known
    return copied(known)


def copied(part: Any) -> Any:
    """A copy of what JSON can hold, all the way down."""
    if type(part) is dict:
        items = cast("Json", part)
        return {
            name: copied(value) if type(value) in (dict, list) else value
            for name, value in items.items()
        }
    if type(part) is list:
        return [copied(item) for item in cast("list[Any]", part)]
    return part


def key_of(said: tuple[Any, ...], fields: Mapping[str, tuple[Any, ...]]) -> Key | None:
    """All that a JSON schema of some fields depends on; None where a field is not plain.

    Args:
        said: Names and descriptions, plain values all.
        fields: The annotation of each field, then plain values that matter beside it.
    """
    key: list[Any] = [_value(value) for value in said]
    for name, (annotation, *beside) in fields.items():
        if not _is_plain(annotation):
            return None
        key += [name, repr(annotation), *map(_value, beside)]
    return None if None in key else tuple(key)


def _value(value: Any) -> tuple[Any, str] | None:
    """A plain value with its type (1 and True are equal); None for any other."""
    if value is MISSING:
        return MISSING, ""
    if type(value) not in _VALUES:
        return None
    return cast("Any", type(value)), repr(value)


def _is_plain(annotation: Any) -> bool:
    """Whether an annotation says the same whenever and wherever it is written.

    >>> _is_plain(dict[str, list[int] | None]), _is_plain(list[type]), _is_plain(Literal["a", 1])
    (True, False, True)
    """
    if annotation is Any or annotation is ... or annotation is MISSING:
        return True
    origin = get_origin(annotation)
    args = get_args(annotation)
    if origin is None:
        return isinstance(annotation, (type, NoneType)) and annotation in _LEAVES
    if origin is Literal:
        return all(type(value) in _VALUES for value in args)
    if origin is Annotated:
        return _is_plain(args[0]) and all(type(mark) in _VALUES for mark in args[1:])
    return origin in _ORIGINS and all(map(_is_plain, args))
