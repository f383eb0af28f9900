"""Writes behind a running async run (see `writer`)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from plait.checkpoint.base.port import Plan
from plait.common.rounds import task_maker
from plait.drivers.base import Storage
from plait.drivers.writer import LINGER, MOST, Behind

PATIENCE = 1.0
"""Seconds that a run of another thread waits for this event loop, which something may hold up."""


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class AioWriter(Behind):
    """Writes behind an async run, in a task of its own."""

    def __init__(self, storage: Storage, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(storage)
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    async def put(self, plan: Plan[Any]) -> None:
        """Have a plan written soon."""
        self._raise()
        self._plans.append(plan)
        if len(self._plans) >= MOST:
            await self.close()
        elif not self._asked:
            self._asked = True
            self._timer = self._loop.call_later(LINGER, self.begin)

    async def run(self, plan: Plan[Any]) -> Any:
        """Do a plan after everything put so far; returns what it returns."""
        await self._idle()
        self._raise()
        await self._settle_around()
        return await self._saver.arun(self._and(plan))

    async def close(self) -> None:
        """Write what is left. Whoever is cancelled here leaves the writing to its task."""
        self.begin()
        await self._idle()

    def settle(self) -> None:
        """Write what waits, and wait for what is being written; called by a run inside.

        What holds up this very event loop cannot wait for what is being written in it.
        """
        if _running_loop() is self._loop:
            if self._writing is None:
                self._write_here()
        elif not self._loop.is_closed():
            closing = asyncio.run_coroutine_threadsafe(self.close(), self._loop)
            with suppress(TimeoutError):
                closing.result(PATIENCE)

    def _write_here(self) -> None:
        plans = self._take()
        if plans:
            try:
                self._saver.run(self._saver.join(plans))
            except BaseException as error:
                self._fail(error)

    async def _settle_around(self) -> None:
        around, self._around = self._around, None
        if isinstance(around, AioWriter) and around._loop is self._loop:
            await around.close()
        elif around is not None:
            await asyncio.to_thread(around.settle)
        if around is not None:
            self._heed(around)

    async def _idle(self) -> None:
        """Wait until nothing is being written; whoever waits decides what comes then."""
        if self._timer is not None:
            self._timer.cancel()
        while self._writing is not None:
            await asyncio.wait([self._writing])

    def begin(self) -> None:
        """Write what is left, in a task of its own."""
        if self._writing is None and self._plans:
            self._writing = task_maker(self._loop)(self._write())

    async def _write(self) -> None:
        try:
            while plans := self._take():
                await self._settle_around()
                await self._saver.arun(self._saver.join(plans))
        except BaseException as error:
            self._fail(error)
        finally:
            self._writing = None
