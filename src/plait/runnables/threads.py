"""Threads that wait for work: a batch wakes one instead of starting one.

Threads are kept for the life of the program, as daemons; there are as many as were ever busy at
once. Work never waits for a thread that is busy, so work on a thread may start other work and wait
for it.
"""

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread


class _Pool:
    """Work that is due, and the threads that are free.

    At most one thread at a time is on its way to fetch work. When it has taken some and more is
    due, it sends the next one before it begins. So a burst of quick work costs one waking.
    """

    def __init__(self) -> None:
        self.due: deque[Callable[[], object]] = deque()
        self.free: deque[_Helper] = deque()
        self.on_its_way = Lock()

    def send(self) -> None:
        """Have a thread fetch work, unless one is on its way."""
        if not self.on_its_way.acquire(blocking=False):
            return
        try:
            helper = self.free.pop()
        except IndexError:
            try:
                _Helper(self).start()
            except BaseException:  # the system gives no more threads
                self.on_its_way.release()
                raise
        else:
            helper.asleep.release()


class _Helper(Thread):
    """Does one piece of work after the other, and sleeps between them."""

    def __init__(self, pool: _Pool) -> None:
        super().__init__(name="plait-batch", daemon=True)
        self._pool = pool
        self.asleep = Lock()  # an Event costs ten times as much
        self.asleep.acquire()

    def run(self) -> None:
        """Work, sleep, work."""
        pool = self._pool
        while True:
            pool.on_its_way.release()
            self._work()
            pool.free.append(self)
            self.asleep.acquire()

    def _work(self) -> None:
        pool = self._pool
        while pool.due:
            try:
                work = pool.due.popleft()
            except IndexError:  # another thread took the last piece
                return
            if pool.due:
                with suppress(RuntimeError, MemoryError):  # no thread is left: this one does it
                    pool.send()
            work()


_pool = _Pool()


def on_a_thread(work: Callable[[], object]) -> None:
    """Do `work`, which must not raise, on another thread; returns at once."""
    _pool.due.append(work)
    _pool.send()


def _after_fork() -> None:
    global _pool
    _pool = _Pool()  # the child has none of these threads


os.register_at_fork(after_in_child=_after_fork)
