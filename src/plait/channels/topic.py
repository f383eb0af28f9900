"""`Topic`: collects the values of a super-step, or of all of them, into a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from plait.channels.base import BaseChannel
from plait.errors import EmptyChannelError, InvalidUpdateError
from plait.typing import MISSING, subscriptable


@subscriptable
class Topic(BaseChannel[list[Any], Any, list[Any]]):
    """Collects what is written; a written list is spread into its items.

    Args:
        typ: the type of one item.
        accumulate: keep items over super-steps (False: those of the last one only).
    """

    __slots__ = ("accumulate", "values")

    def __init__(self, typ: Any, accumulate: bool = False) -> None:
        super().__init__(typ)
        self.accumulate = accumulate
        self.values: list[Any] = []

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Topic) and value.accumulate == self.accumulate

    @property
    def ValueType(self) -> Any:
        return Sequence[self.typ]

    @property
    def UpdateType(self) -> Any:
        return self.typ | list[self.typ]

    def checkpoint(self) -> Any:
        return list(self.values) if self.values else MISSING

    def from_checkpoint(self, checkpoint: Any) -> Topic:
        new = type(self)(self.typ, self.accumulate)
        new.key = self.key
        if checkpoint is not MISSING:
            if not isinstance(checkpoint, (list, tuple)):
                raise InvalidUpdateError(
                    f"A Topic stores a list, and not a value of type {type(checkpoint).__name__}"
                )
            new.values = list(cast("Sequence[Any]", checkpoint))
        return new

    def update(self, values: Sequence[Any]) -> bool:
        changed = False
        if not self.accumulate:
            changed = bool(self.values)
            self.values = []
        for value in values:
            if isinstance(value, list):
                items = cast(list[Any], value)
                changed = changed or bool(items)
                self.values.extend(items)
            else:
                changed = True
                self.values.append(value)
        return changed

    def get(self) -> list[Any]:
        if not self.values:
            raise EmptyChannelError(f"Channel {self.key!r} holds nothing.")
        return list(self.values)

    def is_available(self) -> bool:
        return bool(self.values)
