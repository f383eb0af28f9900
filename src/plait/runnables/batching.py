"""Many calls at once: on threads, or as coroutines of one event loop. Bounded, and in order.

Loaded by the first batch, since asyncio and threading cost more than the rest of a small program.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from plait.errors import GraphInterrupt
from plait.runnables.places import Branches
from plait.runnables.threads import on_a_thread

T = TypeVar("T")

DEFAULT_THREADS = 64
"""How many inputs of a sync batch run at once when the config has no `max_concurrency`."""


class _Batch(Generic[T]):
    """Calls that several threads share; each is made in a copy of the maker's context.

    Whoever takes a call wakes one more thread if calls are left. So quick calls are made by one
    thread and a woken one that finds nothing left; calls that wait let others start at once.
    """

    def __init__(self, calls: Sequence[Callable[[], T]], threads: int, go_on: bool) -> None:
        self._calls = calls
        self._spare = deque(range(threads))
        self._go_on = go_on
        self._context = copy_context()
        self._branches = Branches(len(calls))
        self._left = deque(range(len(calls)))
        self.done: SimpleQueue[tuple[int, T | None, BaseException | None]] = SimpleQueue()
        """What became of each call that was begun, as (index, output, error)."""

    def work(self) -> None:
        """Make calls until none is left."""
        while self._left:
            try:
                index = self._left.popleft()
            except IndexError:  # another thread took the last one
                return
            if self._left:
                self.add_thread()
            self._call(index)

    def add_thread(self) -> None:
        """One more thread, if one may be added."""
        try:
            self._spare.pop()
        except IndexError:
            return
        on_a_thread(self.work)

    def drop(self) -> int:
        """Begin no further call. How many were left."""
        dropped = 0
        try:
            while True:
                self._left.pop()
                dropped += 1
        except IndexError:
            return dropped

    def _call(self, index: int) -> None:
        context: Context = self._context.copy()
        context.run(self._branches.begin, index)
        try:
            outcome = (index, context.run(self._calls[index]), None)
        except BaseException as error:
            outcome = (index, None, error)
            if not ((self._go_on and isinstance(error, Exception)) or _asks(error)):
                for _ in range(self.drop()):
                    self.done.put((-1, None, None))  # stands for a call that is never begun
        self.done.put(outcome)


def run_all(
    calls: Sequence[Callable[[], T]], limit: int | None, return_exceptions: bool
) -> list[T | Exception]:
    """Make all calls, at most `limit` at a time, the caller's thread being one; results in order.

    After a failure no further call starts; the error of the earliest call is raised, whichever
    failed first. A question is no failure: the others ask theirs, too.
    """
    batch = _Batch(calls, min(limit or DEFAULT_THREADS, len(calls)) - 1, return_exceptions)
    batch.work()
    outcomes: list[Any] = [None] * len(calls)
    errors: dict[int, BaseException] = {}
    for _ in calls:
        index, output, error = batch.done.get()
        if error is not None:
            errors[index] = error
        if index >= 0:
            outcomes[index] = output if error is None else error
    _raise_first(errors, return_exceptions)
    return outcomes


def run_as_completed(
    calls: Sequence[Callable[[], T]], limit: int | None, return_exceptions: bool
) -> Iterator[tuple[int, T | Exception]]:
    """Make all calls, at most `limit` at a time; each index and result as soon as it is there."""
    batch = _Batch(calls, min(limit or DEFAULT_THREADS, len(calls)), return_exceptions)
    batch.add_thread()
    try:
        for _ in calls:
            index, output, error = batch.done.get()
            if error is None:
                yield index, output  # pyright: ignore[reportReturnType] # None may be the output
            elif return_exceptions and isinstance(error, Exception):
                yield index, error
            else:
                raise error
    finally:
        batch.drop()


async def arun_all(
    calls: Sequence[Callable[[], Awaitable[T]]], limit: int | None, return_exceptions: bool
) -> list[T | Exception]:
    """Await all, at most `limit` at a time (by default all); results in order.

    A failure cancels the others; the error of the earliest call is raised. A question is none.
    """
    outcomes: list[Any] = [None] * len(calls)
    errors: dict[int, BaseException] = {}
    left = iter(range(len(calls)))
    branches = Branches(len(calls))

    async def work(left: Iterator[int]) -> None:
        for index in left:
            branches.begin(index)
            try:
                outcomes[index] = await calls[index]()
            except Exception as error:
                outcomes[index] = errors[index] = error
                if not (return_exceptions or _asks(error)):
                    for worker in workers:
                        if worker is not asyncio.current_task():
                            worker.cancel()
                    return

    workers = [
        asyncio.ensure_future(work(left)) for _ in range(min(limit or len(calls), len(calls)))
    ]
    try:
        results = await asyncio.gather(*workers, return_exceptions=True)
    except asyncio.CancelledError:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise
    _raise_first(errors, return_exceptions)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return outcomes


async def arun_as_completed(
    calls: Sequence[Callable[[], Awaitable[T]]], limit: int | None, return_exceptions: bool
) -> AsyncIterator[tuple[int, T | Exception]]:
    """The async twin of `run_as_completed`. Leaving it early cancels what still runs."""
    done: asyncio.Queue[tuple[int, Any, BaseException | None]] = asyncio.Queue()
    left = iter(range(len(calls)))
    branches = Branches(len(calls))

    async def work() -> None:
        for index in left:
            branches.begin(index)
            try:
                done.put_nowait((index, await calls[index](), None))
            except BaseException as error:
                done.put_nowait((index, None, error))
                if not isinstance(error, Exception):
                    raise

    workers = [asyncio.ensure_future(work()) for _ in range(min(limit or len(calls), len(calls)))]
    try:
        for _ in calls:
            index, output, error = await done.get()
            if error is None:
                yield index, output
            elif return_exceptions and isinstance(error, Exception):
                yield index, error
            else:
                raise error
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def _raise_first(errors: dict[int, BaseException], return_exceptions: bool) -> None:
    """Raise the error of the earliest call that failed, else of the earliest that asks."""
    earliest = [errors[index] for index in sorted(errors)]
    for error in sorted(earliest, key=_asks):
        if not return_exceptions or not isinstance(error, Exception):
            raise error


def _asks(error: BaseException) -> bool:
    return isinstance(error, GraphInterrupt)
