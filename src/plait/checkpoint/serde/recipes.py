"""Recipes: how values that were read once are made again, each time anew, without reading them.

What cannot change is used again as it is; a dict or list of such values is copied; a message of
such values is cast; all else is decoded again. Values that are made in one way are made together,
so that long lists take few steps of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

Many: TypeAlias = Callable[[Sequence[Any]], list[Any]]
"""Makes values, one of each thing that it is given."""

_FLAT = frozenset({type(None), bool, int, float, str, bytes})


class Packed:
    """How values are made that must be decoded again; there is one of it."""

    __slots__ = ()


PACKED = Packed()


class Recipes:
    """How items are made once more, as often as need be.

    Of each item, `hows` is None, and the item stands in `whats`: it cannot change; or a function
    that makes such items of what stands there, which is never changed; or `PACKED`, and bytes stand
    there.

    >>> recipes = Recipes()
    >>> recipes.add(*simple_recipe({"a": 1}))
    >>> recipes.add(*simple_recipe("text"))
    >>> recipes.made(lambda packed: [])
    [{'a': 1}, 'text']
    """

    __slots__ = ("hows", "makers", "whats")

    def __init__(self) -> None:
        self.hows: list[Any] = []
        self.whats: list[Any] = []
        self.makers: dict[bytes, Callable[[Any], Any]] = {}
        """The functions by wire names of what they make."""

    def add(self, how: Any, what: Any) -> None:
        """Add an item."""
        self.hows.append(how)
        self.whats.append(what)

    def add_each(self, items: list[Any], recipe: Callable[[Any], tuple[Any, Any]]) -> None:
        """Add many items; `recipe` says how one is made once more."""
        if _FLAT.issuperset(map(type, items)):
            self.hows += [None] * len(items)
            self.whats += items
            return
        for item in items:
            self.add(*recipe(item))

    def made(self, loads: Many) -> list[Any]:
        """The items, new. `loads` decodes what is packed, by a codec that agrees with these."""
        hows, whats = self.hows, self.whats
        if not hows:
            return []
        how = hows[0]
        if hows.count(how) == len(hows):
            return whats.copy() if how is None else _many(how, loads)(whats)
        made = {
            how: iter(_many(how, loads)([w for h, w in zip(hows, whats, strict=True) if h is how]))
            for how in {*hows}
            if how is not None
        }
        pairs = zip(hows, whats, strict=True)
        return [what if how is None else next(made[how]) for how, what in pairs]

    def copy(self) -> Recipes:
        """The same recipes, to be added to."""
        same = Recipes()
        same.hows, same.whats, same.makers = self.hows[:], self.whats[:], self.makers.copy()
        return same

    def part(self, first: int, count: int) -> Recipes:
        """So many, from a place on."""
        some = Recipes()
        some.hows = self.hows[first : first + count]
        some.whats = self.whats[first : first + count]
        some.makers = self.makers
        return some

    def picked(self, places: Sequence[int]) -> Recipes:
        """Those at some places."""
        some = Recipes()
        some.hows = [self.hows[place] for place in places]
        some.whats = [self.whats[place] for place in places]
        some.makers = self.makers.copy()
        return some


class KeyedRecipes:
    """How the values of a dict are made once more, by key, in its order.

    >>> recipes = KeyedRecipes()
    >>> recipes.put("a", *simple_recipe([1]))
    >>> recipes.put("b", *simple_recipe("text"))
    >>> recipes.made(lambda packed: [])
    {'a': [1], 'b': 'text'}
    """

    __slots__ = ("hows", "whats")

    def __init__(self) -> None:
        self.hows: dict[Any, Any] = {}
        """Of those keys only whose values are not used as they are."""
        self.whats: dict[Any, Any] = {}

    def put(self, key: Any, how: Any, what: Any) -> None:
        """Put a value, in its place or at the end."""
        self.whats[key] = what
        if how is not None:
            self.hows[key] = how
        else:
            self.hows.pop(key, None)

    def drop(self, key: Any) -> None:
        """Drop a value, if it is there."""
        self.whats.pop(key, None)
        self.hows.pop(key, None)

    def copy(self) -> KeyedRecipes:
        """The same recipes, to be changed."""
        same = KeyedRecipes()
        same.hows, same.whats = self.hows.copy(), self.whats.copy()
        return same

    def made(self, loads: Many) -> dict[Any, Any]:
        """The dict, new. `loads` decodes what is packed."""
        value, hows = self.whats.copy(), self.hows
        for how in {*hows.values()}:
            keys = [key for key, its in hows.items() if its is how]
            made = _many(how, loads)([*map(value.__getitem__, keys)])
            value.update(zip(keys, made, strict=True))
        return value


def _many(how: Many | Packed, loads: Many) -> Many:
    return loads if isinstance(how, Packed) else how


def _copied_dicts(whats: Iterable[dict[Any, Any]]) -> list[Any]:
    return [*map(dict[Any, Any].copy, whats)]


def _copied_lists(whats: Iterable[list[Any]]) -> list[Any]:
    return [*map(list[Any].copy, whats)]


def simple_recipe(value: Any) -> tuple[Any, Any] | None:
    """How and of what plain data is made once more; None for what must be decoded again."""
    kind = cast("type[Any]", type(value))
    if kind in _FLAT:
        return None, value
    if is_flat(value):
        return _copied_dicts, value.copy()
    if kind is list and _FLAT.issuperset(map(type, value)):
        return _copied_lists, value.copy()
    return None


def is_flat(value: Any) -> bool:
    """Whether a value is a dict of values that cannot change."""
    return type(value) is dict and _FLAT.issuperset(
        map(type, cast("dict[Any, Any]", value).values())
    )
