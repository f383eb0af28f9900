"""Many calls at once: on threads, or as coroutines of one event loop. Bounded, and in order.

Loaded by the first batch, since asyncio and threading cost more than the rest of a small program.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import copy_context
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

DEFAULT_THREADS = 64
"""How many inputs of a sync batch run at once when the config has no `max_concurrency`."""


def run_all(
    calls: Sequence[Callable[[], T]], limit: int | None, return_exceptions: bool
) -> list[T | Exception]:
    """Call all, at most `limit` at a time, the caller's thread being one; results in order.

    Threads are added while calls are left, so that quick calls need one or two. After a failure no
    further call starts; the error of the earliest call is raised, whichever failed first.
    """
    outcomes: list[Any] = [None] * len(calls)
    errors: dict[int, BaseException] = {}
    left = deque(range(len(calls)))

    def work() -> None:
        while left:
            try:
                index = left.popleft()
            except IndexError:  # another thread took the last one
                return
            if errors and not return_exceptions:
                return
            try:
                outcomes[index] = calls[index]()
            except BaseException as error:
                outcomes[index] = errors[index] = error

    helpers: list[Thread] = []
    for _ in range(min(limit or DEFAULT_THREADS, len(calls)) - 1):
        if not left:
            break
        helper = Thread(target=copy_context().run, args=(work,), daemon=True)
        helper.start()
        helpers.append(helper)
    work()
    for helper in helpers:
        helper.join()
    _raise_first(errors, return_exceptions)
    return outcomes


async def arun_all(
    calls: Sequence[Callable[[], Awaitable[T]]], limit: int | None, return_exceptions: bool
) -> list[T | Exception]:
    """Await all, at most `limit` at a time (by default all); results in order.

    A failure cancels the others; the error of the earliest call is raised.
    """
    outcomes: list[Any] = [None] * len(calls)
    errors: dict[int, BaseException] = {}
    left = iter(range(len(calls)))

    async def work(left: Iterator[int]) -> None:
        for index in left:
            try:
                outcomes[index] = await calls[index]()
            except Exception as error:
                outcomes[index] = errors[index] = error
                if not return_exceptions:
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


def _raise_first(errors: dict[int, BaseException], return_exceptions: bool) -> None:
    for index in sorted(errors):
        if not return_exceptions or not isinstance(errors[index], Exception):
            raise errors[index]
