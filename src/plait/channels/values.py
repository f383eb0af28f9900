"""Channels that hold one plain value: last value, any value, ephemeral, untracked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.channels.base import Held
from plait.channels.overwrite import overwritten
from plait.errors import EmptyChannelError, InvalidUpdateError
from plait.typing import MISSING


def at_most_one(key: str, values: Sequence[Any]) -> Any:
    """The single update of a channel that takes one per super-step."""
    if len(values) != 1:
        raise InvalidUpdateError(
            f"Key {key!r} received {len(values)} values in one super-step but takes only one. "
            "Give the key a reducer, e.g. Annotated[list, operator.add], or let one node write it."
        )
    return values[0]


class LastValue(Held):
    """Holds the last value written; two writes in one super-step are an error."""

    __slots__ = ()
    step_scoped = False

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            return False
        value = values[0] if len(values) == 1 else at_most_one(self.key, values)
        found, inner = overwritten(value)
        self.value = inner if found else value
        return True


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


class EphemeralValue(Held):
    """Holds a value for the one super-step after it was written.

    Args:
        typ: the declared type.
        guard: two writes in one super-step are an error (False: the last one counts).
    """

    __slots__ = ("guard",)

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard

    def __eq__(self, value: object) -> bool:
        return isinstance(value, EphemeralValue) and value.guard == self.guard

    __hash__ = Held.__hash__

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            if self.value is MISSING:
                return False
            self.value = MISSING
            return True
        self.value = at_most_one(self.key, values) if self.guard else values[-1]
        return True


class UntrackedValue(Held):
    """Holds the last value written, and is never stored: a resumed run starts without it.

    Args:
        typ: the declared type.
        guard: two writes in one super-step are an error (False: the last one counts).
    """

    __slots__ = ("guard",)
    step_scoped = False
    persisted = False

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard

    def __eq__(self, value: object) -> bool:
        return isinstance(value, UntrackedValue) and value.guard == self.guard

    __hash__ = Held.__hash__

    def checkpoint(self) -> Any:
        return MISSING

    def from_checkpoint(self, checkpoint: Any) -> Held:
        return super().from_checkpoint(MISSING)

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            return False
        self.value = at_most_one(self.key, values) if self.guard else values[-1]
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
