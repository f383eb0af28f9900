"""Threads that wait for work: a batch wakes one instead of starting one.

Threads are kept for the life of the program, as daemons; there are as many as were ever busy at
once. A thread is never waited for: calls on such a thread may start others without a deadlock.
"""

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

_idle: "deque[_Helper]" = deque()


class _Helper(Thread):
    """Does one piece of work after the other, and waits among the idle ones between them."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__(name="plait-batch", daemon=True)
        self._work: Callable[[], object] | None = work
        self._woken = Event()

    def wake(self, work: Callable[[], object]) -> None:
        """Give an idle helper work."""
        self._work = work
        self._woken.set()

    def run(self) -> None:
        """Work, wait, work."""
        while self._work is not None:
            self._work()
            self._work = None  # nothing of a finished call is kept alive
            self._woken.clear()
            _idle.append(self)
            self._woken.wait()


def on_a_thread(work: Callable[[], object]) -> None:
    """Do `work`, which must not raise, on another thread; returns at once."""
    with suppress(IndexError):
        return _idle.pop().wake(work)
    _Helper(work).start()
    return None


os.register_at_fork(after_in_child=_idle.clear)  # a forked child has none of these threads
