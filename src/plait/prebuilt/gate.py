"""`Gate`: how many calls may run at once, of all threads and event loops of the process."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import ContextVar
from threading import Lock
from typing import TypeVar

T = TypeVar("T")

_inside: ContextVar[frozenset["Gate"]] = ContextVar("plait_gates", default=frozenset())
"""The gates that the running code is inside of."""


class Gate:
    """Runs at most `limit` calls at once; the others wait, in the order in which they came.

    Code that is inside goes through again, since waiting for itself would never end.

    >>> gate = Gate(1)
    >>> gate.run(lambda: gate.run(lambda: "inside"))
    'inside'
    """

    __slots__ = ("_free", "_lock", "_waiting")

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._lock = Lock()
        self._waiting: deque[Future[None]] = deque()

    def run(self, call: Callable[[], T]) -> T:
        """Make a call when it is its turn."""
        if self in _inside.get():
            return call()
        if (turn := self._turn()) is not None:
            try:
                turn.result()
            except BaseException:  # a signal, while the thread waited
                self._give_up(turn)
                raise
        marked = _inside.set(_inside.get() | {self})
        try:
            return call()
        finally:
            _inside.reset(marked)
            self._leave()

    async def arun(self, call: Callable[[], Awaitable[T]]) -> T:
        """The async twin of `run`."""
        if self in _inside.get():
            return await call()
        if (turn := self._turn()) is not None:
            try:
                await asyncio.wrap_future(turn)
            except BaseException:  # cancelled
                self._give_up(turn)
                raise
        marked = _inside.set(_inside.get() | {self})
        try:
            return await call()
        finally:
            _inside.reset(marked)
            self._leave()

    def _turn(self) -> Future[None] | None:
        """Take a place; what to wait for where none is free."""
        with self._lock:
            if self._free:
                self._free -= 1
                return None
            turn = Future[None]()
            self._waiting.append(turn)
            return turn

    def _give_up(self, turn: Future[None]) -> None:
        if not turn.cancel():  # the place was given at the same time
            self._leave()

    def _leave(self) -> None:
        """Give the place to the first who waits."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                turn = self._waiting.popleft()
            if turn.set_running_or_notify_cancel():
                turn.set_result(None)
                return


__all__ = ["Gate"]
