"""Chance of a random program: everything comes from one seed."""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Dice:
    """A seeded source of choices."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def share(self) -> float:
        """A number from 0 to 1, to choose by."""
        return self._random.random()

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self._random.random() < probability

    def number(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""
        return self._random.randint(low, high)

    def one(self, items: Sequence[T]) -> T:
        """One of the items."""
        return self._random.choice(items)

    def some(self, items: Sequence[T], least: int = 0, most: int | None = None) -> list[T]:
        """Several different items, in their order."""
        most = len(items) if most is None else min(most, len(items))
        count = self.number(min(least, most), most)
        chosen = set(self._random.sample(range(len(items)), count))
        return [item for index, item in enumerate(items) if index in chosen]

    def mixed(self, items: Sequence[T], least: int, most: int) -> list[T]:
        """Several different items, in any order."""
        count = least if least == most else self.number(least, most)
        return self._random.sample(list(items), min(count, len(items)))

    def weighted(self, **weights: float) -> str:
        """A name, as often as its weight says."""
        return self._random.choices(list(weights), list(weights.values()))[0]

    def put(self, found: "Spec", key: str, probability: float, items: Sequence[Any]) -> None:
        """Sets `key` to one of the items, that often."""
        if self.chance(probability):
            found[key] = self.one(items)


Spec = dict[str, Any]
"""A program as plain data: what a seed gives, what is shrunk and what is written as text."""
