"""How far the worker threads of a run may be ahead of what it has stored.

Tasks of some microseconds end by the thousand before the run has stored the results of the first of
them: a process that dies then repeats them all. So threads begin no task of a run while `MOST` of
its results wait to be stored. None of them is blocked: whoever finds that it is to begin none goes
to work for other runs, and comes back when there is something to do here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from plait.drivers.base import Storage
from plait.drivers.pool import Job, workers

MOST = 256
"""Results that wait to be stored while threads still begin tasks."""


class Ahead:
    """Hands the tasks of one run to the worker threads.

    Each visit of a thread does one job. There are as many visits to come as there were jobs, but no
    more than `MOST` at a time: one that takes a job has the next one come.

    Args:
        waiting: how many results the run has not looked at.
    """

    __slots__ = ("_jobs", "_put_off", "_storing", "_waiting")

    def __init__(self, waiting: Callable[[], int]) -> None:
        self._waiting = waiting
        self._jobs: deque[Job] = deque()
        self._storing = 0
        """Results that the run has looked at, and is storing."""
        self._put_off: list[None] = []
        """An entry for each visit that found too many results."""

    def submit(self, jobs: Sequence[Job]) -> None:
        """Have jobs done, in order."""
        self._jobs.extend(jobs)
        self._ask_for(min(len(jobs), MOST))

    def storing(self, count: int) -> None:
        """The run is about to take so many results, and will store them."""
        self._storing = count

    def stored(self) -> None:
        """What the run took is stored."""
        self._storing = 0
        count = len(self._put_off)
        if count:
            del self._put_off[:count]
            self._ask_for(count)

    def _ask_for(self, visits: int) -> None:
        workers().submit([(self._visit, ())] * visits)

    @property
    def _far(self) -> bool:
        """Whether too many results wait to be stored."""
        return self._waiting() + self._storing >= MOST

    def _visit(self) -> None:
        if self._far:
            self._put_off.append(None)
            if self._far:
                return
            try:  # stored meanwhile, perhaps before anybody could see that this one was put off
                self._put_off.pop()
            except IndexError:
                return
        try:
            function, args = self._jobs.popleft()
        except IndexError:
            return
        if self._jobs:
            self._ask_for(1)
        function(*args)


def may_be_lost(storage: Storage | None) -> bool:
    """Whether results of tasks are stored while others run, and outlive this process."""
    return storage is not None and storage.durability != "exit" and storage.saver.shared


__all__ = ["MOST", "Ahead", "may_be_lost"]
