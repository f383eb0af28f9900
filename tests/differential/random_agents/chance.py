"""Chance with a seed: what the makers of programs draw from."""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Chance:
    """Draws that are the same for the same seed."""

    def __init__(self, seed: int, family: str) -> None:
        self._random = random.Random(f"{family} {seed}")  # text, so that families differ

    def often(self, share: float) -> bool:
        """True in this share of all draws."""
        return self._random.random() < share

    def one(self, items: Sequence[T]) -> T:
        """One of the items."""
        return self._random.choice(items)

    def some(self, items: Sequence[T], least: int, most: int) -> list[T]:
        """Between `least` and `most` different items, in any order."""
        count = min(self._random.randint(least, most), len(items))
        return self._random.sample(list(items), count)

    def number(self, least: int, most: int) -> int:
        """A whole number between the two, both included."""
        return self._random.randint(least, most)

    def put(self, found: dict[str, Any], key: str, share: float, items: Sequence[Any]) -> None:
        """Sets `key` to one of the items in this share of all draws."""
        if self.often(share):
            found[key] = self.one(items)
