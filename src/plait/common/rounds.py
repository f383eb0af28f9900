"""Asyncio tasks that begin in the next round of their event loop, whatever makes its tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def task_maker(loop: asyncio.AbstractEventLoop) -> Callable[..., asyncio.Task[Any]]:
    """What makes a task of code, and if asked to, in a `context`.

    With an eager task factory (`asyncio.eager_task_factory` of Python 3.12) code begins, and may
    end, in the midst of whoever makes a task of it, before he could take note of the task. Not so
    here. Without a factory nothing is added.
    """
    if loop.get_task_factory() is None:
        return loop.create_task
    return partial(_make, loop)


def _make(
    loop: asyncio.AbstractEventLoop,
    code: Coroutine[Any, Any, T],
    *,
    context: Context | None = None,
) -> asyncio.Task[T]:
    return loop.create_task(_next_round(code), context=context)


async def _next_round(code: Coroutine[Any, Any, T]) -> T:
    try:
        await asyncio.sleep(0)
    except BaseException:  # cancelled before it began
        code.close()
        raise
    return await code


__all__ = ["task_maker"]
