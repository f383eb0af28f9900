"""`AnyValue`: several writes that are taken to be equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.channels.base import Held
from plait.typing import MISSING


class AnyValue(Held):
    """Holds the last value written, whichever of several; empties when a step writes none."""

    __slots__ = ()

    def update(self, values: Sequence[Any]) -> bool:
        if values:
            self.value = values[-1]
            return True
        if self.value is MISSING:
            return False
        self.value = MISSING
        return True
