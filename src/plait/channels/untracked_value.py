"""`UntrackedValue`: lives in memory only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.channels.base import Held, at_most_one
from plait.typing import MISSING


class UntrackedValue(Held):
    """Holds the last value written, and is never stored: a resumed run starts without it.

    Args:
        typ: the declared type.
        guard: two writes in one super-step are an error (False: the last one counts).
    """

    __slots__ = ("guard",)
    step_scoped = False
    persisted = False
    single = True

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard

    def __eq__(self, value: object) -> bool:
        return isinstance(value, UntrackedValue) and value.guard == self.guard

    def checkpoint(self) -> Any:
        return MISSING

    def from_checkpoint(self, checkpoint: Any) -> Held:
        return super().from_checkpoint(MISSING)

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            return False
        self.value = at_most_one(self.key, values) if self.guard else values[-1]
        return True
