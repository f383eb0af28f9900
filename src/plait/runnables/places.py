"""Several calls that one task makes at once, on threads or as coroutines: known by their places.

Which of them comes first, and on which thread, is chance. So what code inside of one asks, and the
graphs that it runs, are told from those of the others by the place of its call among them: a task
that begins anew finds again what belongs to each.
"""

from __future__ import annotations

from contextvars import ContextVar
from threading import Lock
from typing import Protocol

from plait.common.forks import forget_in_child
from plait.scope import Here, Scope, current_scope, thread_of_control


class Numbers(Protocol):
    """What gives numbers to the graphs that code runs one after the other."""

    def take(self, count: int) -> int:
        """The first of `count` numbers in a row."""
        ...


class Branches:
    """Calls that the task which runs here makes at once.

    Args:
        count: how many. A single one that is made here, too, is in the task's own turn.
    """

    __slots__ = ("_count", "_here", "_lock", "_rows", "outer", "scope")

    def __init__(self, count: int) -> None:
        self.scope = current_scope.get()
        if self.scope is None:
            return  # no task runs here: nothing is to be told apart
        self.outer = branch_in(self.scope)
        self._count = count
        self._here = thread_of_control()
        self._rows: list[int] = []
        self._lock = Lock()

    def begin(self, index: int) -> None:
        """What runs in this context from now on is the call at this place among them."""
        if self.scope is None:
            return
        here = thread_of_control()
        if self._count > 1 or here != self._here:
            _branch.set(_Branch(self, index, here))

    def row(self, nth: int, numbers: Numbers) -> int:
        """Where the row begins from which each call has a number for the nth graph that it runs."""
        with self._lock:
            while len(self._rows) <= nth:
                self._rows.append((self.outer or numbers).take(self._count))
            return self._rows[nth]


class _Branch:
    """One of several calls that a task makes at once."""

    __slots__ = ("_index", "_taken", "among", "here", "path")

    def __init__(self, among: Branches, index: int, here: Here) -> None:
        self.among = among
        self.here = here
        self.path = str(index) if among.outer is None else f"{among.outer.path}/{index}"
        """Its place, after those of the calls around it."""
        self._index = index
        self._taken = 0

    def take(self, count: int) -> int:
        """The first of `count` in a row of the graphs that this call runs, counted from 0."""
        first, self._taken = self._taken, self._taken + count
        return first

    def number(self, nth: int, numbers: Numbers) -> int:
        """The number, in the whole task, of the nth graph that this call runs."""
        place = self.among.row(nth, numbers) + self._index
        outer = self.among.outer
        return place if outer is None else outer.number(place, numbers)


_branch: ContextVar[_Branch | None] = ContextVar("plait_branch", default=None)
forget_in_child(_branch)


def branch_in(scope: Scope) -> _Branch | None:
    """The call that runs here of those that the task makes at once; None: it is none of them."""
    branch = _branch.get()
    return branch if branch is not None and branch.among.scope is scope else None


def path_of(scope: Scope, here: Here) -> str | None:
    """The place of the call that runs here; None where what runs is none of several, or races with
    others inside of one."""
    branch = branch_in(scope)
    return branch.path if branch is not None and branch.here == here else None


__all__ = ["Branches", "Numbers", "branch_in", "path_of"]
