"""`LastValue`: one write a super-step, the last one counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.channels.base import Held, at_most_one
from plait.channels.overwrite import overwritten
from plait.errors import EmptyChannelError
from plait.typing import MISSING


class LastValue(Held):
    """Holds the last value written; two writes in one super-step are an error."""

    __slots__ = ()
    step_scoped = False
    single = True

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            return False
        value = values[0] if len(values) == 1 else at_most_one(self.key, values)
        found, inner = overwritten(value)
        self.value = inner if found else value
        return True


class LastValueAfterFinish(Held):
    """Holds the last value written, but shows it only when nothing else is left to run."""

    __slots__ = ("finished",)
    step_scoped = False
    finish_scoped = True

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.finished = False

    def checkpoint(self) -> Any:
        return MISSING if self.value is MISSING else (self.value, self.finished)

    def from_checkpoint(self, checkpoint: Any) -> Held:
        new = super().from_checkpoint(MISSING)
        if checkpoint is not MISSING:
            new.value, new.finished = checkpoint  # type: ignore[attr-defined]
        return new

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            return False
        self.finished = False
        self.value = values[-1]
        return True

    def consume(self) -> bool:
        if not self.finished:
            return False
        self.finished = False
        self.value = MISSING
        return True

    def finish(self) -> bool:
        if self.finished or self.value is MISSING:
            return False
        self.finished = True
        return True

    def get(self) -> Any:
        if not self.is_available():
            raise EmptyChannelError(f"Channel {self.key!r} holds nothing that may be read yet.")
        return self.value

    def is_available(self) -> bool:
        return self.finished and self.value is not MISSING
