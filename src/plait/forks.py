"""What a forked child makes anew: locks, whose holder may be a thread that does not exist there."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """What a child gets from its parent as it was at that moment."""

    def after_fork(self) -> None:
        """In the child: be usable again, whatever the parent's threads were doing."""
        ...


_all: WeakSet[Inherited] = WeakSet()


def renew_in_child(thing: Inherited) -> None:
    """Have `after_fork` called in each forked child, as long as the thing lives."""
    _all.add(thing)


def _after_fork() -> None:
    for thing in list(_all):
        thing.after_fork()


os.register_at_fork(after_in_child=_after_fork)

__all__ = ["Inherited", "renew_in_child"]
