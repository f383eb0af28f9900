"""How async tasks wait for room among the chunks of a stream (see `backlog`): where they await."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Sized
from operator import call
from typing import Any

from plait.drivers.awaiting import driven
from plait.drivers.backlog import Room


class AioRoom(Room):
    """Room for the async tasks of one event loop too.

    Args:
        events: what waits.
    """

    __slots__ = ("_free",)

    def __init__(self, events: Sized) -> None:
        Room.__init__(self, events.__len__)
        self._free: asyncio.Event | None = None

    async def wait(self) -> None:
        """Suspend until there is room."""
        while self.full:
            if self._free is None:
                self._free = asyncio.Event()
            self._free.clear()
            await self._free.wait()

    def pause(self) -> Generator[Any, Any, None]:
        """`wait`, for whoever drives a coroutine by hand."""
        if self.full:
            yield from self.wait().__await__()

    def taken(self) -> None:
        if self._free is not None:
            self._free.set()
        super().taken()


class Paced:
    """Awaits a coroutine, and keeps it suspended where it awaits while there is no room.

    Args:
        coroutine: the code of a task, which may write chunks between its awaits.
        room: what it waits for.
    """

    __slots__ = ("_coroutine", "_room")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], room: AioRoom) -> None:
        self._coroutine = coroutine
        self._room = room

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            waits_for = self._coroutine.send(None)
        except StopIteration as end:
            return end.value
        return (yield from driven(self._coroutine, waits_for, call, self._room.pause))


__all__ = ["AioRoom", "Paced"]
