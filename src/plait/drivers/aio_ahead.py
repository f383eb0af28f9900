"""How far the tasks of an async run may be ahead of what it has stored (see `ahead`).

An event loop gives every task that is ready its turn before the run, which is one of them, has its
own. So of thousands of quick async tasks that all begin at once, all have ended before the run has
stored the first of them. Here they begin in portions: the event loop goes round, the run has its
turn, and the next portion begins.

No task waits until another has ended: tasks may wait for each other. Only while `MOST` results wait
to be stored, no portion begins, and then not for longer than `PATIENCE`: what is stored may wait
for what a task holds (a connection, the lock of a file) that waits for one that has not begun.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import TypeAlias

from plait.drivers.ahead import MOST, Ahead
from plait.drivers.pool import workers
from plait.engine.tasks import Task

PATIENCE = 1.0
"""Seconds that storing what is there may keep the next portion from beginning."""
Attempt: TypeAlias = tuple[tuple[Task, int], Context]
"""A task with the number of its attempt, and the context of its code."""


class AioAhead(Ahead):
    """Hands sync tasks of one run to the worker threads, and async ones to the event loop.

    Args:
        waiting: how many results the run has not looked at.
        start: starts the attempts of a portion in the event loop.
        aio: the event loop.
    """

    __slots__ = ("_aio", "_patience", "_start", "_to_begin")

    def __init__(
        self,
        waiting: Callable[[], int],
        start: Callable[[Sequence[Attempt]], None],
        aio: AbstractEventLoop,
    ) -> None:
        Ahead.__init__(self, waiting)
        self._start = start
        self._aio = aio
        self._to_begin: deque[Attempt] = deque()
        self._patience: TimerHandle | None = None
        """Runs while too many results wait to be stored."""

    def begin(self, attempts: Sequence[Attempt]) -> None:
        """Have async tasks begin, in order."""
        idle = not self._to_begin
        self._to_begin.extend(attempts)
        if idle:
            self._next_portion()

    def stored(self) -> None:
        super().stored()
        if self._patience is not None and not self._far:
            self._next_portion()

    def close(self) -> None:
        """The run has ended."""
        self._to_begin.clear()
        if self._patience is not None:
            self._patience.cancel()

    def _next_portion(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        waiting = self._to_begin
        self._start([waiting.popleft() for _ in range(min(len(waiting), MOST))])
        if waiting:
            self._aio.call_soon(self._gone_round)

    def _gone_round(self) -> None:
        """All that began has had its turn."""
        if self._to_begin and self._far:
            self._patience = self._aio.call_later(PATIENCE, self._next_portion)
        else:
            self._next_portion()

    def _ask_for(self, visits: int) -> None:
        super()._ask_for(visits)
        workers().watch()


__all__ = ["AioAhead", "Attempt"]
