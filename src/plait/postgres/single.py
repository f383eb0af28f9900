"""A single connection given by the user, behind the methods of a pool: one call at a time."""

from __future__ import annotations

import asyncio
from threading import Lock
from typing import Any

from psycopg import AsyncConnection, Connection, OperationalError
from psycopg_pool import PoolTimeout

_BUSY = "the one connection that was given is in use; give a pool for more than one call at a time"
_GONE = (
    "the one connection that was given is closed, and only its maker can open another one; a pool "
    "or a connection string goes on by itself"
)


class Single:
    """One sync connection."""

    def __init__(self, conn: Connection[Any]) -> None:
        self._conn = conn
        self._lock = Lock()

    def getconn(self, timeout: float) -> Connection[Any]:
        """Take it when it is free. Raises PoolTimeout; OperationalError once it is closed."""
        if not self._lock.acquire(timeout=timeout):
            raise PoolTimeout(_BUSY)
        if self._conn.closed:
            self._lock.release()
            raise OperationalError(_GONE)
        return self._conn

    def putconn(self, conn: Connection[Any]) -> None:
        """Give it back."""
        self._lock.release()

    def check(self) -> None:
        """It broke, and only its maker can open another one."""


class AsyncSingle:
    """One async connection."""

    def __init__(self, conn: AsyncConnection[Any]) -> None:
        self._conn = conn
        self._lock = asyncio.Lock()

    async def getconn(self, timeout: float) -> AsyncConnection[Any]:
        """Take it when it is free. Raises PoolTimeout; OperationalError once it is closed."""
        try:
            async with asyncio.timeout(timeout):
                await self._lock.acquire()
        except TimeoutError as error:
            raise PoolTimeout(_BUSY) from error
        if self._conn.closed:
            self._lock.release()
            raise OperationalError(_GONE)
        return self._conn

    async def putconn(self, conn: AsyncConnection[Any]) -> None:
        """Give it back."""
        self._lock.release()

    async def check(self) -> None:
        """It broke, and only its maker can open another one."""
