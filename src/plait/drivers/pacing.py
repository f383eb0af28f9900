"""How async tasks wait for room among the chunks of a stream (see `backlog`): where they await."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sized
from typing import Any

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
        send, throw, room = self._coroutine.send, self._coroutine.throw, self._room
        advance: Callable[[Any], Any] = send
        value: Any = None
        while True:
            try:
                waits_for = advance(value)
            except StopIteration as end:
                return end.value
            advance = send
            try:
                value = yield waits_for
                if room.full:
                    yield from room.wait().__await__()
            except GeneratorExit:  # the collector may have closed the coroutine before
                self._coroutine.close()
                raise
            except BaseException as error:
                advance, value = throw, error


__all__ = ["AioRoom", "Paced"]
