"""Savers whose requests all go through `execute`, and whose claims are short."""

from __future__ import annotations

import asyncio
from typing import Any

from plait.checkpoint.sqlite import SqliteSaver


class OneWay(SqliteSaver):
    """Async runs take the way of sync ones, on threads: for savers that watch `execute`."""

    async def aexecute(self, request: Any) -> Any:
        """Do a request as a thread would."""
        return await asyncio.to_thread(self.execute, request)


class ShortLease(OneWay):
    """Claims that last a moment unless renewed."""

    lease = 0.4

    def open_session(self, thread_id: str, ns: str = "", **options: Any) -> Any:
        """A session whose lease is short."""
        return super().open_session(thread_id, ns, **{**options, "lease": self.lease})
