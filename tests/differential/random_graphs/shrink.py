"""Makes a program that differs smaller, as long as it differs."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from .dice import Spec

Path = tuple[Any, ...]


def shrink(spec: Spec, differs: Callable[[Spec], bool], budget: int = 300) -> Spec:
    """The smallest spec that was found by taking out one piece after the other."""
    while True:
        for smaller in _smaller(spec):
            budget -= 1
            if budget < 0:
                return spec
            if differs(smaller):
                spec = smaller
                break
        else:
            return spec


def _smaller(spec: Spec) -> Iterator[Spec]:
    for path, value in sorted(_places(spec, ()), key=lambda place: -len(repr(place[1]))):
        if isinstance(path[-1], int):
            yield _without(spec, path)
        for plain in (None, [], 0):
            if _may_be(value, plain):
                yield _with(spec, path, plain)


def _may_be(value: Any, plain: Any) -> bool:
    if value == plain or value is None:
        return False
    if plain is None:
        return not isinstance(value, bool)
    return isinstance(value, bool if plain == 0 else list)


def _places(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if path:
        yield path, value
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        yield from _places(item, (*path, key))


def _without(spec: Spec, path: Path) -> Spec:
    return _changed(spec, path, lambda owner, key: owner.pop(key))


def _with(spec: Spec, path: Path, value: Any) -> Spec:
    return _changed(spec, path, lambda owner, key: owner.__setitem__(key, value))


def _changed(spec: Spec, path: Path, change: Callable[[Any, Any], Any]) -> Spec:
    spec = copy.deepcopy(spec)
    owner: Any = spec
    for key in path[:-1]:
        owner = owner[key]
    change(owner, path[-1])
    return spec
