"""Awaiting a coroutine in the asyncio task of somebody else: inside a context, or to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import nullcontext, suppress
from contextvars import Context, copy_context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class InContext:
    """Awaits a begun coroutine inside its own context, without an asyncio task of its own.

    Args:
        waits_for: what the coroutine's first step yielded.
    """

    __slots__ = ("_context", "_coroutine", "_waits_for")

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], context: Context, waits_for: Any
    ) -> None:
        self._coroutine = coroutine
        self._context = context
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        return driven(self._coroutine, self._waits_for, self._context.run)


def driven(
    coroutine: Coroutine[Any, Any, Any],
    waits_for: Any,
    step: Callable[..., Any],
    pause: Callable[[], Generator[Any, Any, None]] | None = None,
) -> Generator[Any, Any, Any]:
    """Lead a begun coroutine to its end, in the asyncio task of whoever awaits this.

    Args:
        waits_for: what the coroutine's first step yielded.
        step: calls a method of the coroutine with what follows it.
        pause: what is awaited, too, before the coroutine goes on.
    """
    while True:
        advance: Callable[[Any], Any] = coroutine.send
        try:
            value = yield waits_for
            if pause is not None:
                yield from pause()
        except GeneratorExit:  # the collector may have closed the coroutine before
            step(coroutine.close)
            raise
        except BaseException as error:
            advance, value = coroutine.throw, error
        try:
            waits_for = step(advance, value)
        except StopIteration as end:
            return end.value


async def to_its_end(work: Coroutine[Any, Any, T], leave: Callable[[], bool]) -> T:
    """Await storage work; a cancellation waits until the outcome of the work is known.

    Args:
        leave: called at a cancellation: ends what would wait for others. Returns whether a second
            cancellation waits, too.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _outcome_known(task, leave())
        raise


async def _outcome_known(task: asyncio.Future[Any], in_any_case: bool) -> None:
    """Wait for an outcome, however often the caller is cancelled: nobody would give back a claim
    that nobody knows of."""
    while not task.done():
        with suppress(asyncio.CancelledError) if in_any_case else nullcontext():
            await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # the cancellation is what the caller hears of


async def stepped_to_its_end(
    work: Coroutine[Any, Any, T], aio: asyncio.AbstractEventLoop, leave: Callable[[], bool]
) -> T:
    """`to_its_end` without an asyncio task of its own, unless it is cancelled.

    What the work waits for is not awaited here, since a cancellation would cancel it: a future
    that nobody else knows is.
    """
    try:
        waits_for: asyncio.Future[Any] | None = work.send(None)
        while True:
            try:
                if waits_for is None:
                    await asyncio.sleep(0)
                else:
                    gate: asyncio.Future[None] = aio.create_future()
                    waits_for.add_done_callback(partial(_open, gate))
                    await gate
            except asyncio.CancelledError:
                rest = _awaited(InContext(work, copy_context(), waits_for))
                await _outcome_known(aio.create_task(rest), leave())
                raise
            waits_for = work.send(None)
    except StopIteration as end:
        return end.value


def _open(gate: asyncio.Future[None], _: Any = None) -> None:
    if not gate.done():
        gate.set_result(None)


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


__all__ = ["InContext", "driven", "stepped_to_its_end", "to_its_end"]
