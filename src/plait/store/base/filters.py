"""Filters: which values a search lets through. The same code judges for every store of ours.

A filter names keys of the value; all of them must agree. What it says of a key is either a dict of
operators, or what the value must be like: a dict is met by a dict that has at least its keys, a
list by a list of as many items, anything else by what is equal; operators may stand inside, too. A
key that a value lacks counts as None. Keys are taken literally; only when the value has no such key
is a dotted one a path.

`$gt`, `$gte`, `$lt` and `$lte` compare numbers with numbers and text with text; no other pair meets
them.

numpy's arrays count as the lists of their items, in values and in filters. Anything else that
compares item by item, such as a table, equals nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from operator import ge, gt, le, lt
from typing import Any, TypeAlias, cast

from plait.errors import InvalidStoreOpError, nearest

Judge: TypeAlias = Callable[[Any], bool]
_SCALARS = frozenset((str, int, float, bool, type(None)))


def judge_of(filter: Mapping[str, Any] | None) -> Judge | None:
    """A function that says whether a value meets a filter (None: every value does).

    >>> judge = judge_of({"kind": "note", "n": {"$gt": 2}})
    >>> judge({"kind": "note", "n": 3}), judge({"kind": "note", "n": "3"})
    (True, False)
    """
    if not filter:
        return None
    judges = [_judge_of_key(key, wanted) for key, wanted in filter.items()]
    return judges[0] if len(judges) == 1 else lambda value: all(judge(value) for judge in judges)


def _judge_of_key(key: str, wanted: Any) -> Judge:
    wanted = _listed(wanted)
    if _is_operators(wanted):
        if len(wanted) == 1 and "$ne" in wanted and "." not in key:
            refused = wanted["$ne"]
            return lambda value: not _equal(value.get(key), refused)
        judges = [_OPERATORS[name](operand) for name, operand in wanted.items()]
        if len(judges) == 1:
            only = judges[0]
            if "." in key:
                return lambda value: only(_at(value, key))
            return lambda value: only(value.get(key))
        return lambda value: all(judge(_at(value, key)) for judge in judges)
    if isinstance(wanted, Mapping | list | tuple):
        return lambda value: _is_like(_at(value, key), wanted)
    if "." in key:
        return lambda value: _equal(_at(value, key), wanted)
    if wanted.__class__ in _SCALARS:  # most filters are one, and most answers a bool
        return lambda value: (
            (same := value.get(key) == wanted) is True
            or (same is not False and _equal(value.get(key), wanted))
        )
    return lambda value: _equal(value.get(key), wanted)


def check_filter(filter: Any) -> None:
    """Refuse a filter that no search could apply, whatever the values are.

    Raises:
        InvalidStoreOpError: It is no dict, or uses an operator that does not exist.
    """
    if filter is None:
        return
    if not isinstance(filter, Mapping):
        raise InvalidStoreOpError(f"A filter is a dict from keys to what they must be: {filter!r}.")
    for key, wanted in cast("Mapping[Any, Any]", filter).items():
        if not isinstance(key, str):
            raise InvalidStoreOpError(f"Keys of a filter are strings, not {key!r}.")
        _check_operators(key, wanted)


def _check_operators(key: str, wanted: Any) -> None:
    """Refuse what a key must be like, if it names an operator that does not exist."""
    if isinstance(wanted, list | tuple):
        for part in cast("list[Any]", wanted):
            _check_operators(key, part)
    elif _is_operators(wanted):
        for name in wanted:
            if name not in _OPERATORS:
                raise InvalidStoreOpError(
                    f"Unsupported operator: {name!r} for key {key!r}. {nearest(name, _OPERATORS)}"
                )
    elif isinstance(wanted, Mapping):
        for part in cast("Mapping[Any, Any]", wanted).values():
            _check_operators(key, part)


def _at(value: Mapping[str, Any], key: str) -> Any:
    if key in value or "." not in key:
        return value.get(key)
    found: Any = value
    for label in key.split("."):
        if not isinstance(found, Mapping):
            return None
        found = cast("Mapping[str, Any]", found).get(label)
    return found


def _is_operators(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and any(
        isinstance(key, str) and key.startswith("$") for key in cast("Mapping[Any, Any]", wanted)
    )


def _is_like(found: Any, wanted: Any) -> bool:
    if _is_operators(wanted):
        return all(_OPERATORS[name](operand)(found) for name, operand in wanted.items())
    if isinstance(wanted, Mapping):
        if not isinstance(found, Mapping):
            return False
        inside = cast("Mapping[Any, Any]", found)
        pairs = cast("Mapping[Any, Any]", wanted).items()
        return all(_is_like(inside.get(key), part) for key, part in pairs)
    if isinstance(wanted, list | tuple):
        parts = cast("list[Any]", wanted)
        found = _listed(found)
        if not isinstance(found, list | tuple):
            return False
        items = cast("list[Any]", found)
        return len(items) == len(parts) and all(map(_is_like, items, parts))
    return _equal(found, wanted)


def _equal(found: Any, wanted: Any) -> bool:
    """Whether two things are equal as wholes, also where `==` compares their items."""
    try:
        same = found == wanted
        if same.__class__ is bool or getattr(same, "shape", None) == ():
            return bool(same)
    except ValueError:  # of a list or dict with such things in it
        pass
    one, other = _listed(found), _listed(wanted)
    try:
        return one.__class__ is other.__class__ and bool(one == other)
    except ValueError:
        return False


def _listed(part: Any) -> Any:
    """The same with numpy's arrays as lists, to any depth of dicts, lists and tuples."""
    kind: Any = part.__class__
    if kind is dict:
        return {key: _listed(value) for key, value in part.items()}
    if kind is list:
        return [_listed(value) for value in part]
    if kind is tuple:
        return tuple([_listed(value) for value in part])
    if kind.__module__ == "numpy" and getattr(part, "shape", ()):
        return part.tolist()
    return part


def _comparing(compare: Callable[[Any, Any], bool]) -> Callable[[Any], Judge]:
    def judge_by(operand: Any) -> Judge:
        kinds: Any = (
            str
            if isinstance(operand, str)
            else (int, float, Real)  # most numbers are found by the first two, and sooner
            if isinstance(operand, Real)
            else ()
        )
        return lambda found: isinstance(found, kinds) and compare(found, operand)

    return judge_by


_OPERATORS: dict[str, Callable[[Any], Judge]] = {
    "$eq": lambda operand: lambda found: _equal(found, operand),
    "$ne": lambda operand: lambda found: not _equal(found, operand),
    "$gt": _comparing(gt),
    "$gte": _comparing(ge),
    "$lt": _comparing(lt),
    "$lte": _comparing(le),
}
