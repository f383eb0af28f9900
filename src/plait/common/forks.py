"""What a forked child makes anew, or forgets: locks, whose holder may be a thread that does not
exist there, and what runs around the fork, which does not go on there."""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import Any, Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """What a child gets from its parent as it was at that moment."""

    def after_fork(self) -> None:
        """In the child: be usable again, whatever the parent's threads were doing."""
        ...


_all: WeakSet[Inherited] = WeakSet()
_process: list[object] = [object()]


def this_process() -> object:
    """What stands for this process: in a forked child, another than in its parent."""
    return _process[0]


def renew_in_child(thing: Inherited) -> None:
    """Have `after_fork` called in each forked child, as long as the thing lives."""
    _all.add(thing)


_forgotten: list[ContextVar[Any]] = []


def forget_in_child(variable: ContextVar[Any]) -> None:
    """Have a variable be None in each forked child.

    A worker process that a node happened to start would be inside that node for ever: its runs
    would go to the node's thread, and wait for threads that the child does not have.
    """
    _forgotten.append(variable)


def _after_fork() -> None:
    _process[0] = object()
    for variable in _forgotten:
        variable.set(None)
    for thing in list(_all):
        thing.after_fork()


os.register_at_fork(after_in_child=_after_fork)

__all__ = ["Inherited", "forget_in_child", "renew_in_child", "this_process"]
