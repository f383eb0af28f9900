"""What stores with a database share: their index, how they are closed, and who sweeps them.

`Kept` is the part that reads and writes; `Swept` and `AsyncSwept` are the two ways in which the
names of a store are maintained: a thread that sweeps, or a task.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from functools import cached_property
from typing import ClassVar

from plait.common.closing import ClosedAtEitherEnd
from plait.embeddings import Embeddings
from plait.store.base.batches import Index
from plait.store.base.configs import check_interval, check_ttl
from plait.store.base.items import IndexConfig, TTLConfig
from plait.store.base.store import BaseStore
from plait.store.base.sweeper import Sweeper, log_failure

DEFAULT_SWEEP_MINUTES = 5.0


class Kept(BaseStore, ClosedAtEitherEnd):
    """A store over a database, which is closed at the end of `with` and `async with`."""

    supports_ttl: ClassVar[bool] = True

    def __init__(self, index: IndexConfig | None, ttl: TTLConfig | None) -> None:
        self._index = Index(index) if index else None
        if ttl is not None:
            check_ttl(ttl)
        self.ttl_config = ttl

    @property
    def index_config(self) -> IndexConfig | None:
        """How items are embedded."""
        return self._index.config if self._index else None

    @property
    def embeddings(self) -> Embeddings | None:
        """What embeds items."""
        return self._index.embeddings if self._index else None

    def _sweep(self) -> int:
        """Delete the items that have expired; how many they were."""
        raise NotImplementedError

    async def _asweep(self) -> int:
        """`_sweep` without blocking the event loop."""
        raise NotImplementedError

    def _sweep_seconds(self, minutes: float | None) -> float | None:
        """How often to sweep; None when items do not expire."""
        check_interval(minutes)
        if not self.ttl_config:
            return None
        chosen = minutes or self.ttl_config.get("sweep_interval_minutes") or DEFAULT_SWEEP_MINUTES
        return chosen * 60.0


class Swept(Kept):
    """A store whose maintenance is called, and goes on in a thread."""

    @cached_property
    def _sweeper(self) -> Sweeper:
        return Sweeper(self._sweep)

    def sweep_ttl(self) -> int:
        """Delete the items that have expired.

        Returns:
            How many they were.
        """
        return self._sweep()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep every so often, on a thread, until it is stopped or the store closed.

        Args:
            sweep_interval_minutes: How often (None: as the store is configured, else every 5).

        Returns:
            A future that is done when the sweeper has ended; at once for a store without a `ttl`.

        Raises:
            ConfigError: The interval is less than 0, or no number.
        """
        seconds = self._sweep_seconds(sweep_interval_minutes)
        if seconds is None:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        return self._sweeper.start(seconds)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the sweeper.

        Returns:
            Whether it has ended within `timeout` seconds (None: however long it takes).
        """
        return self._sweeper.stop(timeout)

    def close(self) -> None:
        """Close the database, after the calls in flight; end the sweeper."""
        self.stop_ttl_sweeper()
        super().close()


class AsyncSwept(Kept):
    """A store whose maintenance is awaited, and goes on in a task."""

    _task: asyncio.Task[None] | None = None

    async def sweep_ttl(self) -> int:
        """Delete the items that have expired; how many they were."""
        return await self._asweep()

    async def start_ttl_sweeper(
        self, sweep_interval_minutes: float | None = None
    ) -> asyncio.Task[None]:
        """Sweep every so often, in a task, until it is stopped.

        Args:
            sweep_interval_minutes: How often (None: as the store is configured, else every 5).

        Raises:
            ConfigError: The interval is less than 0, or no number.
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
            try:
                await self.sweep_ttl()
            except Exception:
                log_failure(seconds)

    async def __aexit__(self, *_: object) -> None:
        await self.stop_ttl_sweeper()
        await super().__aexit__()


__all__ = ["AsyncSwept", "Kept", "Swept"]
