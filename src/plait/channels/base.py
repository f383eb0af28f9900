"""The port of a channel: how one key of state takes the writes of a super-step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from plait.errors import EmptyChannelError as EmptyChannelError
from plait.errors import InvalidUpdateError as InvalidUpdateError
from plait.typing import MISSING, subscriptable

Value = TypeVar("Value")
Update = TypeVar("Update")
Stored = TypeVar("Stored")


class BaseChannel(ABC, Generic[Value, Update, Stored]):
    """One key of state: holds a value, takes the updates of a super-step.

    Subclass it for a merge rule of your own: implement `from_checkpoint`, `get` and `update`.

    Args:
        typ: the declared type of the value.
        key: the channel's name, for error messages.
    """

    __slots__ = ("key", "typ")

    step_scoped: ClassVar[bool] = True
    """Whether the channel must hear of super-steps in which nothing was written to it.

    The engine calls `update([])` then. Channels whose value simply stays set this to False, so
    that a super-step costs only what it touches.
    """
    finish_scoped: ClassVar[bool] = False
    """Whether the channel must hear (`finish()`) that nothing else is left to run."""
    persisted: ClassVar[bool] = True
    """Whether checkpoints hold the channel's value."""
    single: ClassVar[bool] = False
    """Whether the channel may refuse a second update in one super-step.

    What several Commands write between two super-steps is then applied one after the other.
    """

    def __init__(self, typ: Any, key: str = "") -> None:
        self.typ = typ
        self.key = key

    @property
    def ValueType(self) -> Any:
        """The type of the value that `get` returns."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """The type of one update."""
        return self.typ

    def copy(self) -> BaseChannel[Value, Update, Stored]:
        """A channel of the same kind with the same value; later updates do not meet."""
        return self.from_checkpoint(self.checkpoint())

    def checkpoint(self) -> Stored | Any:
        """What a checkpoint stores, or `MISSING` when there is nothing to store."""
        try:
            return self.get()
        except EmptyChannelError:
            return MISSING

    @abstractmethod
    def from_checkpoint(self, checkpoint: Stored | Any) -> BaseChannel[Value, Update, Stored]:
        """A new channel of this kind that holds what `checkpoint` stored (MISSING: empty)."""

    @abstractmethod
    def get(self) -> Value:
        """The value. Raises EmptyChannelError when there is none."""

    def is_available(self) -> bool:
        """Whether `get` would return a value."""
        try:
            self.get()
        except EmptyChannelError:
            return False
        return True

    @abstractmethod
    def update(self, values: Sequence[Update]) -> bool:
        """Take a super-step's updates, in their order. Returns whether anything changed."""

    def consume(self) -> bool:
        """A task that this channel triggered has run. Returns whether anything changed."""
        return False

    def finish(self) -> bool:
        """Nothing else is left to run. Returns whether anything changed."""
        return False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key!r}>"


def at_most_one(key: str, values: Sequence[Any]) -> Any:
    """The single update of a channel that takes one per super-step."""
    if len(values) != 1:
        raise InvalidUpdateError(
            f"Key {key!r} received {len(values)} values in one super-step but takes only one. "
            "Give the key a reducer, e.g. Annotated[list, operator.add], or let one node write it."
        )
    return values[0]


@cache
def extra_slots(cls: type) -> tuple[str, ...]:
    """The slots that a kind of `Held` channel adds to type, key and value."""
    names = [name for base in cls.__mro__ for name in getattr(base, "__slots__", ())]
    return tuple(name for name in names if name not in ("typ", "key", "value"))


@subscriptable
class Held(BaseChannel[Any, Any, Any]):
    """A channel that holds at most one plain value (the base of most kinds)."""

    __slots__ = ("value",)

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value: Any = MISSING

    def __eq__(self, value: object) -> bool:
        return type(value) is type(self)

    def holding(self, value: Any) -> Held:
        """A channel of the same kind and settings that holds `value`."""
        new = object.__new__(type(self))
        new.typ = self.typ
        new.key = self.key
        new.value = value
        for name in extra_slots(type(self)):
            setattr(new, name, getattr(self, name))
        return new

    def from_checkpoint(self, checkpoint: Any) -> Held:
        return self.holding(checkpoint)

    def copy(self) -> Held:
        return self.holding(self.value)

    def get(self) -> Any:
        if self.value is MISSING:
            raise EmptyChannelError(f"Channel {self.key!r} holds nothing.")
        return self.value

    def checkpoint(self) -> Any:
        return self.value

    def is_available(self) -> bool:
        return self.value is not MISSING
