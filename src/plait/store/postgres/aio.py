"""`AsyncPostgresStore`: the Postgres store under its async name, whose maintenance is awaited."""

from __future__ import annotations

import asyncio

from plait.store.postgres.rows import sweep
from plait.store.postgres.store import PostgresItems


class AsyncPostgresStore(PostgresItems):
    """Like `PostgresStore`, with all its arguments; `setup` and the sweeper are async here."""

    _task: asyncio.Task[None] | None = None

    async def setup(self) -> None:
        """Bring the schema up to date now, instead of on first use. Safe to call at any time."""
        await self._database.aset_up()

    async def sweep_ttl(self) -> int:
        """Delete the items that have expired; how many they were."""
        return await self._database.arun(sweep)

    async def start_ttl_sweeper(
        self, sweep_interval_minutes: float | None = None
    ) -> asyncio.Task[None]:
        """Sweep every so often, in a task, until it is stopped.

        Args:
            sweep_interval_minutes: How often (None: as the store is configured, else every 5).
        """
        if self._task is None or self._task.done():
            seconds = self._sweep_seconds(sweep_interval_minutes)
            self._task = asyncio.create_task(self._sweep_often(seconds))
        return self._task

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the sweeper; whether it has ended within `timeout` seconds."""
        task, self._task = self._task, None
        if task is None:
            return True
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=timeout)
        return task in done

    async def _sweep_often(self, seconds: float | None) -> None:
        while seconds is not None:
            await asyncio.sleep(seconds)
            await self.sweep_ttl()

    async def __aexit__(self, *_: object) -> None:
        await self.stop_ttl_sweeper()
        await super().__aexit__()


__all__ = ["AsyncPostgresStore"]
