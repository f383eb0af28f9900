"""Reads while others prune and delete.

A read takes several requests, and nobody holds the thread meanwhile. What it stands on may be gone
before it asks for it: then it looks as if rows were damaged. So damage counts where it is found
twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from plait.checkpoint.base.port import Plan
from plait.errors import CorruptCheckpointError

T = TypeVar("T")


def sure(read: Callable[[], Plan[T]]) -> Plan[T]:
    """What `read` reads: once more where it finds damage, until it finds the same again.

    Raises:
        CorruptCheckpointError: What is stored is damaged.
    """
    known: set[str] = set()
    while True:
        try:
            return (yield from read())
        except CorruptCheckpointError as error:
            if str(error) in known:
                raise
            known.add(str(error))


__all__ = ["sure"]
