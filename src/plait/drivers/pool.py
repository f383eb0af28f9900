"""plait's own worker threads: cheap to feed, grown on demand, shared by all runs of a process.

A job costs a `SimpleQueue` put and get (about a microsecond). Threads are added when jobs wait
and none was taken for a moment, doubling up to `MAX_THREADS`, so that a thousand trivial tasks
share two threads while two hundred slow ones get one each within milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from queue import Empty, SimpleQueue
from threading import RLock, Semaphore, Thread, get_ident
from time import monotonic, sleep
from typing import Any, TypeAlias

MAX_THREADS = 1024
"""More sync tasks than this at once share threads; see also `max_concurrency`. Threads in code that
was given up do not count: else a process whose code hangs now and then would come to a halt."""
IDLE_SECONDS = 20.0
"""A thread without work ends after this long."""
STALL_SECONDS = 0.002
"""How long a waiting run looks away before it asks for more threads."""
LONGEST_SECONDS = 3600.0
"""How long anybody waits at once; no platform waits for ever, nor until the end of the calendar."""

Job: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]


class WorkerPool:
    """Daemon threads that take jobs from one queue."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._lock = RLock()  # the garbage collector may close a stream meanwhile (`dropped`)
        self._threads = 0
        self._busy: set[int] = set()
        """The threads that are doing a job."""
        self._lost: set[int] = set()
        """Those whose job was given up: nobody knows when they come back."""
        self._taken = 0
        self._taken_before = -1
        self._watched = False
        self._alarm: Semaphore | None = None
        self._later: list[tuple[float, int, Job]] = []
        self._ticket = count()

    def submit(self, jobs: Iterable[Job]) -> None:
        """Queue jobs. A job must not raise."""
        for job in jobs:
            self._jobs.put(job)
        if self._threads < 2:
            self._grow(2 - self._threads)

    @property
    def backlog(self) -> bool:
        """Whether jobs wait for a thread."""
        return not self._jobs.empty()

    def nudge(self) -> None:
        """A run has waited a moment: add threads if jobs wait and none was taken meanwhile.

        Not for jobs that a free thread will take as soon as the machine lets it: it may be slow.
        """
        if self._taken == self._taken_before:
            free = self._threads - len(self._busy)
            self._grow(min(self._jobs.qsize() - free, max(4, self._threads)))
        self._taken_before = self._taken

    def write_off(self, thread: int | None) -> None:
        """What a thread is doing was given up: another may take its place."""
        if thread in self._busy:
            self._lost.add(thread)

    def watch(self) -> None:
        """Jobs were queued and nobody waits who would `nudge`: a thread of the pool's own does."""
        if not self._watched:
            self._watched = True
            try:
                self._wake_watcher()
            except RuntimeError:  # the system has no more threads: those there are do it all
                self._watched = False

    def call_at(self, due: float, job: Job) -> None:
        """Queue a job once `time.monotonic()` says `due`."""
        with self._lock:
            heappush(self._later, (due, next(self._ticket), job))
        self._wake_watcher()

    def _wake_watcher(self) -> None:
        with self._lock:
            if self._alarm is None:
                alarm = Semaphore(0)
                args = (alarm,)
                Thread(target=self._keep_watch, args=args, name="plait-watch", daemon=True).start()
                self._alarm = alarm
        self._alarm.release()

    def _keep_watch(self, alarm: Semaphore) -> None:
        while True:
            if self._watched:
                sleep(STALL_SECONDS)
                self._watched = False  # before the look: who queues a job after it asks again
                if self.backlog:
                    self._watched = True
                    self.nudge()
            else:
                alarm.acquire(timeout=self._pause())
            due = self._due()
            if due:
                self.submit(due)
                self._watched = True  # all threads may be taken, by work that was given up

    def _pause(self) -> float | None:
        """How long nothing falls due; None: until somebody queues a job."""
        later = self._later
        return min(max(0.0, later[0][0] - monotonic()), LONGEST_SECONDS) if later else None

    def _due(self) -> list[Job]:
        jobs: list[Job] = []
        with self._lock:
            while self._later and self._later[0][0] <= monotonic():
                jobs.append(heappop(self._later)[2])
        return jobs

    def _grow(self, count: int) -> None:
        for _ in range(min(count, MAX_THREADS + len(self._lost) - self._threads)):
            with self._lock:
                self._threads += 1
            try:
                Thread(target=self.serve, name="plait-worker", daemon=True).start()
            except BaseException as error:
                with self._lock:
                    self._threads -= 1
                if isinstance(error, (RuntimeError, MemoryError)) and self._threads > 0:
                    return  # the system has no more threads: those there are do it all
                raise

    def serve(self) -> None:
        """What each thread does: one job after the other. No lock is held meanwhile."""
        get, busy, lost, me = self._jobs.get, self._busy, self._lost, get_ident()
        while True:
            try:
                function, args = get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._threads -= 1
                        return
                continue
            self._taken += 1
            busy.add(me)
            function(*args)
            busy.discard(me)
            lost.discard(me)
            del function, args  # a waiting thread must not keep the last job's objects alive


_pool = WorkerPool()


def workers() -> WorkerPool:
    """The process's pool."""
    return _pool


def _after_fork() -> None:
    # Threads do not survive a fork; a child starts with a pool of its own.
    global _pool
    _pool = WorkerPool()


os.register_at_fork(after_in_child=_after_fork)
