"""A thread that does blocking work for event loops, one call at a time, in order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, TypeVar

from plait.errors import StorageUnavailableError

T = TypeVar("T")

_Job: TypeAlias = Callable[[], None]


class Worker:
    """Started by its first call, ended by `close`, or when nobody holds it any more; a forked child
    starts its own."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[_Job | None] | None = None
        self._pid = 0

    async def call(self, work: Callable[[], T]) -> T:
        """Run `work` on the thread. If the caller is cancelled, the work is still done."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self.submit(lambda: _do(work, loop, done))
        return await done

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` on the thread, and wait for nothing. It tells its errors itself."""
        jobs = self._jobs
        if jobs is None or self._pid != os.getpid():
            jobs = self._start()
        jobs.put(job)

    def close(self) -> None:
        """End the thread once it has done what it was given."""
        jobs, self._jobs = self._jobs, None
        if jobs is not None and self._pid == os.getpid():
            jobs.put(None)

    def __del__(self) -> None:
        self.close()

    def _start(self) -> SimpleQueue[_Job | None]:
        jobs: SimpleQueue[_Job | None] = SimpleQueue()
        try:
            Thread(target=_serve, args=(jobs,), name=self._name, daemon=True).start()
        except RuntimeError as error:
            raise StorageUnavailableError(
                f"SQLite is asked by event loops in a thread of its own, and the system has none "
                f"for it ({error}). Nothing of this call was done; call again when there are fewer "
                "threads, or let the process have more (`ulimit -u`, the limits of its container)."
            ) from error
        self._jobs, self._pid = jobs, os.getpid()  # not before: no thread may be left
        return jobs


def _serve(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        try:
            job()
        except BaseException:
            pass  # whoever gave the job was told; the thread serves others, too
        del job


def _do(
    work: Callable[[], Any], loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any]
) -> None:
    try:
        result, error = work(), None
    except BaseException as raised:
        result, error = None, raised
    try:
        loop.call_soon_threadsafe(_settle, done, result, error)
    except RuntimeError:  # the loop was closed: nobody waits any more
        pass


def _settle(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.cancelled():
        return
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(result)
