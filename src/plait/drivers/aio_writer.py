"""Writes behind a running async run (see `writer`)."""

from __future__ import annotations

import asyncio
from typing import Any

from plait.checkpoint.base.port import Plan
from plait.drivers.base import PlanRunner
from plait.drivers.writer import LINGER, MOST, Behind


class AioWriter(Behind):
    """Writes behind an async run, in a task of its own."""

    def __init__(self, saver: PlanRunner, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(saver)
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
            self._timer = self._loop.call_later(LINGER, self._begin)

    async def run(self, plan: Plan[Any]) -> Any:
        """Do a plan after everything put so far; returns what it returns."""
        await self._idle()
        self._raise()
        return await self._saver.arun(self._and(plan))

    async def close(self) -> None:
        """Write what is left. Whoever is cancelled here leaves the writing to its task."""
        self._begin()
        await self._idle()

    async def _idle(self) -> None:
        """Wait until nothing is being written; whoever waits decides what comes then."""
        if self._timer is not None:
            self._timer.cancel()
        while self._writing is not None:
            await asyncio.wait([self._writing])

    def _begin(self) -> None:
        if self._writing is None and self._plans:
            self._writing = self._loop.create_task(self._write())

    async def _write(self) -> None:
        try:
            while plans := self._take():
                await self._saver.arun(self._saver.join(plans))
        except BaseException as error:
            self._fail(error)
        finally:
            self._writing = None
