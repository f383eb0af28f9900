"""What stored objects say of themselves: a class by its name, and what it was to be called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from plait.errors import CorruptCheckpointError


class Call(NamedTuple):
    """What a stored object says of itself: its class, and what that was to be called with."""

    module: str
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    method: str | None = None


class Array(NamedTuple):
    """A numpy array as data."""

    dtype: Any
    shape: Any
    order: Any
    data: Any


Build: TypeAlias = Callable[[Call | Array], Any]
"""Makes the object that a call stands for. Raises UnregisteredTypeError where it may not."""


def damaged(why: object) -> CorruptCheckpointError:
    """The error of bytes that cannot be read."""
    text = f"{type(why).__name__}: {why}" if isinstance(why, BaseException) else str(why)
    return CorruptCheckpointError(f"the value is damaged ({text:.200})")


__all__ = ["Array", "Build", "Call", "damaged"]
