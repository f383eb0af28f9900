"""Calls of async tasks, for programs that make them from several asyncio tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from plait.func import task


def twice_charging(seen: list[str]) -> Callable[[str], Awaitable[str]]:
    """A coroutine function that calls a `@task` twice, one call after the other.

    Args:
        seen: Takes note of what the task was called with.
    """

    @task
    async def charge(what: str) -> str:
        seen.append(what)
        return what * 2

    async def twice(what: str) -> str:
        return await charge(what) + await charge(what + "!")

    return twice
