"""`EphemeralValue`: lives for one super-step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.channels.base import Held, at_most_one
from plait.typing import MISSING


class EphemeralValue(Held):
    """Holds a value for the one super-step after it was written.

    Args:
        typ: the declared type.
        guard: two writes in one super-step are an error (False: the last one counts).
    """

    __slots__ = ("guard",)
    single = True

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard

    def __eq__(self, value: object) -> bool:
        return isinstance(value, EphemeralValue) and value.guard == self.guard

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            if self.value is MISSING:
                return False
            self.value = MISSING
            return True
        self.value = at_most_one(self.key, values) if self.guard else values[-1]
        return True
