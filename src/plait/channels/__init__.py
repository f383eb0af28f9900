"""Channels: how one key of state takes the writes of a super-step."""

from plait.channels.barrier import NamedBarrierValue, NamedBarrierValueAfterFinish
from plait.channels.base import BaseChannel
from plait.channels.reducer import BinaryOperatorAggregate
from plait.channels.topic import Topic
from plait.channels.values import (
    AnyValue,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    UntrackedValue,
)

__all__ = [
    "AnyValue",
    "BaseChannel",
    "BinaryOperatorAggregate",
    "EphemeralValue",
    "LastValue",
    "LastValueAfterFinish",
    "NamedBarrierValue",
    "NamedBarrierValueAfterFinish",
    "Topic",
    "UntrackedValue",
]
