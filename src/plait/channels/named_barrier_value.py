"""Barriers: channels that become available when every named writer has written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from plait.channels.base import BaseChannel
from plait.errors import EmptyChannelError, InvalidUpdateError
from plait.typing import MISSING, subscriptable


def _stored(checkpoint: Any) -> tuple[Sequence[Any], bool]:
    """Who has written, and whether all was waited for, as a barrier of either kind stores it: the
    node that waits may have been deferred, or not, when the thread was stored."""
    if len(checkpoint) == 2 and isinstance(checkpoint[1], bool):
        return checkpoint[0], checkpoint[1]
    return checkpoint, False


@subscriptable
class NamedBarrierValue(BaseChannel[Any, Any, list[Any]]):
    """Waits until all of `names` were written, then triggers its readers once.

    Args:
        typ: the type of a name.
        names: who must write.
    """

    __slots__ = ("names", "seen")
    step_scoped: ClassVar[bool] = False

    def __init__(self, typ: Any, names: set[Any]) -> None:
        super().__init__(typ)
        self.names = names
        self.seen: set[Any] = set()

    def __eq__(self, value: object) -> bool:
        return type(value) is type(self) and value.names == self.names  # type: ignore[attr-defined]

    def checkpoint(self) -> Any:
        return sorted(self.seen) if self.seen else MISSING

    def from_checkpoint(self, checkpoint: Any) -> NamedBarrierValue:
        new = type(self)(self.typ, self.names)
        new.key = self.key
        if checkpoint is not MISSING:
            new.seen = set(_stored(checkpoint)[0])
        return new

    def update(self, values: Sequence[Any]) -> bool:
        changed = False
        for value in values:
            if value not in self.names:
                raise InvalidUpdateError(
                    f"Barrier {self.key!r} waits for {sorted(self.names)} but got {value!r}."
                )
            if value not in self.seen:
                self.seen.add(value)
                changed = True
        return changed

    def get(self) -> Any:
        if not self.is_available():
            raise EmptyChannelError(f"Barrier {self.key!r} still waits for writers.")
        return None

    def is_available(self) -> bool:
        return self.seen == self.names

    def consume(self) -> bool:
        if self.seen != self.names:
            return False
        self.seen = set()
        return True


class NamedBarrierValueAfterFinish(NamedBarrierValue):
    """A barrier that, once complete, also waits until nothing else is left to run."""

    __slots__ = ("finished",)
    finish_scoped: ClassVar[bool] = True

    def __init__(self, typ: Any, names: set[Any]) -> None:
        super().__init__(typ, names)
        self.finished = False

    def checkpoint(self) -> Any:
        return (sorted(self.seen), self.finished) if self.seen else MISSING

    def from_checkpoint(self, checkpoint: Any) -> NamedBarrierValueAfterFinish:
        new = type(self)(self.typ, self.names)
        new.key = self.key
        if checkpoint is not MISSING:
            seen, new.finished = _stored(checkpoint)
            new.seen = set(seen)
        return new

    def is_available(self) -> bool:
        return self.finished and self.seen == self.names

    def consume(self) -> bool:
        if not self.is_available():
            return False
        self.finished = False
        self.seen = set()
        return True

    def finish(self) -> bool:
        if self.finished or self.seen != self.names:
            return False
        self.finished = True
        return True
