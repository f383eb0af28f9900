"""`DeltaChannel`: a reducer that is called once per super-step, with all updates of it.

In LangGraph this channel is how a program opts in to storing what changed instead of whole values.
In plait every channel is stored so, whatever its reducer, and reading back runs no user code; what
remains is the reducer over a batch of updates, and that messages among them have ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plait.channels.base import Held
from plait.channels.binop import initial_value
from plait.channels.overwrite import overwritten
from plait.errors import InvalidGraphError, InvalidUpdateError
from plait.typing import MISSING


class DeltaChannel(Held):
    """Holds `reducer(value, updates)` over the updates of each super-step, in their order.

    Args:
        reducer: a function of the value and a list of updates. Two batches, one after the other,
            must amount to the same as both at once.
        typ: the type of the value, whose empty instance is the value to start from (by default, in
            `Annotated[T, DeltaChannel(reducer)]`, T; else list).
        snapshot_frequency: accepted for compatibility. plait bounds what a read touches by itself.

    Raises:
        InvalidGraphError: `snapshot_frequency` is not a positive int.

    >>> channel = DeltaChannel(lambda value, updates: value + sum(updates, []), list)
    >>> channel = channel.from_checkpoint([1])
    >>> channel.update([[2], [3]]), channel.get()
    (True, [1, 2, 3])
    """

    __slots__ = ("reducer", "snapshot_frequency")
    step_scoped = False

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any],
        typ: Any = None,
        *,
        snapshot_frequency: int = 100,
    ) -> None:
        super().__init__(typ)
        if type(snapshot_frequency) is not int or snapshot_frequency < 1:
            raise InvalidGraphError(
                f"snapshot_frequency must be a positive int, got {snapshot_frequency!r}."
            )
        self.reducer = reducer
        self.snapshot_frequency = snapshot_frequency

    def __eq__(self, value: object) -> bool:
        return (
            isinstance(value, DeltaChannel)
            and value.reducer == self.reducer
            and value.snapshot_frequency == self.snapshot_frequency
        )

    def from_checkpoint(self, checkpoint: Any) -> Held:
        return self.holding(self._first() if checkpoint is MISSING else checkpoint)

    @property
    def ValueType(self) -> Any:
        return list if self.typ is None else self.typ

    @property
    def UpdateType(self) -> Any:
        return self.ValueType

    def _first(self) -> Any:
        """The value to start from. An annotation may still tell the type (`_of_type`)."""
        return initial_value(self.ValueType)

    def update(self, values: Sequence[Any]) -> bool:
        from plait.messages.identified import identified, with_ids  # few graphs have such a channel

        if not values:
            return False
        replacing = [inner for found, inner in map(overwritten, values) if found]
        if len(replacing) > 1:
            raise InvalidUpdateError(
                f"Key {self.key!r} received {len(replacing)} Overwrite values in one super-step. "
                "Only one task of a step may overwrite a key."
            )
        if replacing:
            self.value = with_ids(replacing[0])
        else:
            base = self._first() if self.value is MISSING else self.value
            self.value = self.reducer(None if base is MISSING else base, [*map(identified, values)])
        return True

    def replay_writes(self, writes: Sequence[tuple[str, str, Any]]) -> None:
        """Apply stored writes (task id, channel, value), oldest first, as of the last Overwrite."""
        values = [value for _, _, value in writes]
        for index in range(len(values) - 1, -1, -1):
            found, inner = overwritten(values[index])
            if found:
                self.value = inner
                values = values[index + 1 :]
                break
        self.update(values)


__all__ = ["DeltaChannel"]
