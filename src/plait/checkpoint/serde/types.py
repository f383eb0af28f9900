"""What serializers of the peer know of channels and Sends: protocols, for annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from plait.constants import ERROR, INTERRUPT, RESUME, TASKS

Value = TypeVar("Value", covariant=True)
Update = TypeVar("Update", contravariant=True)
C = TypeVar("C")


@runtime_checkable
class ChannelProtocol(Protocol[Value, Update, C]):
    """One key of state: see `plait.channels.base.BaseChannel`."""

    @property
    def ValueType(self) -> Any: ...
    @property
    def UpdateType(self) -> Any: ...
    def checkpoint(self) -> C | None: ...
    def from_checkpoint(self, checkpoint: C | None) -> Self: ...
    def update(self, values: Sequence[Update]) -> bool: ...
    def get(self) -> Value: ...
    def consume(self) -> bool: ...


@runtime_checkable
class SendProtocol(Protocol):
    """A task for one node: see `plait.types.Send`."""

    node: str
    arg: Any


__all__ = ["ERROR", "INTERRUPT", "RESUME", "TASKS", "ChannelProtocol", "SendProtocol"]
