"""Our own pools: connections opened on demand, lent for one call, dropped when they broke.

There are no threads or tasks behind them: whoever needs a connection opens it. While a server that
was there before restarts, whoever needs it keeps knocking. Idle async connections belong to no
event loop, so programs that call `asyncio.run` again and again use the same ones.
"""

from __future__ import annotations

import asyncio
from collections import deque
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg_pool import PoolTimeout

from plait.postgres.origin import Origin

C = TypeVar("C", bound="Connection[Any] | AsyncConnection[Any]")

_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": None,
    "client_encoding": "UTF8",  # whatever the server's is
}
_NOTICES: dict[str, Any] = {
    "tcp_user_timeout": 30_000,  # milliseconds that what was sent may wait to be acknowledged
    "keepalives_idle": 10,  # seconds; then who only waits for an answer sends something, too
    "keepalives_interval": 5,
    "keepalives_count": 4,
}
"""How a connection notices that its server has gone without a word: by what systems come with, this
takes a quarter of an hour, or two hours."""
_IDLE_SECONDS = 600.0
"""After so long unused, a connection is closed when another one comes back."""
_KNOCK = 0.1


def _options(conninfo: str) -> dict[str, Any]:
    """What connections are opened with; what the string says itself counts."""
    said = conninfo_to_dict(conninfo)
    return _OPTIONS | {name: value for name, value in _NOTICES.items() if name not in said}


class _Idle(Generic[C]):
    """Connections that wait to be used: the last one that came back is lent first."""

    def __init__(self, origin: Origin, size: int) -> None:
        self._origin = origin
        self._size = size
        self._idle: deque[tuple[float, C]] = deque()
        self._met = False
        """Whether the server ever answered: only then is it worth waiting for."""
        self._closed = False
        self._turns = 0
        """How often one was lent: who waits is patient as long as others have their turns."""

    def _take(self) -> C | None:
        try:
            return self._idle.pop()[1]
        except IndexError:
            return None

    def _keep(self, conn: C) -> list[C]:
        """Take a connection back; returns those that must be closed."""
        if self._closed or conn.closed or conn.pgconn.transaction_status != TransactionStatus.IDLE:
            return [conn]
        now = monotonic()
        self._idle.append((now, conn))
        old: list[C] = []
        while self._idle and self._idle[0][0] < now - _IDLE_SECONDS:
            old.append(self._idle.popleft()[1])
        return old

    def _empty(self) -> list[C]:
        idle = [conn for _, conn in self._idle]
        self._idle.clear()
        return idle

    def _full(self) -> PoolTimeout:
        return PoolTimeout(f"all {self._size} connections are in use")


class Pool(_Idle[Connection[Any]]):
    """Connections for sync calls."""

    def __init__(self, origin: Origin, size: int) -> None:
        super().__init__(origin, size)
        self._free: SimpleQueue[None] = SimpleQueue()
        """As many as may be lent now: a semaphore in C."""
        for _ in range(size):
            self._free.put(None)

    def getconn(self, timeout: float) -> Connection[Any]:
        """Take a connection. Raises PoolTimeout where no one gets a turn for so many seconds, or
        what psycopg says of a server out of reach."""
        while True:
            turns = self._turns
            try:
                self._free.get(timeout=timeout)
                break
            except Empty:
                if self._turns == turns:
                    raise self._full() from None
        self._turns += 1
        end = monotonic() + timeout
        try:
            return self._take() or self._connect(end)
        except BaseException:
            self._free.put(None)
            raise

    def _connect(self, end: float) -> Connection[Any]:
        while True:
            try:
                left = max(2, round(end - monotonic()))
                where = self._origin.conninfo()
                conn = Connection[Any].connect(where, connect_timeout=left, **_options(where))
                self._origin.settle(conn)
            except psycopg.OperationalError:
                if not self._met or monotonic() > end:
                    raise
                sleep(_KNOCK)
            else:
                self._met = True
                return conn

    def putconn(self, conn: Connection[Any]) -> None:
        """Give a connection back."""
        try:
            for each in self._keep(conn):
                each.close()
        finally:
            self._free.put(None)

    def check(self) -> None:
        """Close the idle connections: what cut another one may have cut them, too."""
        for conn in self._empty():
            conn.close()

    def close(self) -> None:
        """Close the idle connections now, and those in use when they come back."""
        self._closed = True
        self.check()


class AsyncPool(_Idle[AsyncConnection[Any]]):
    """Connections for async calls, of any event loop."""

    def __init__(self, origin: Origin, size: int) -> None:
        super().__init__(origin, size)
        self._free: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    def _limit(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        limit = self._free.get(loop)
        if limit is None:
            limit = self._free[loop] = asyncio.Semaphore(self._size)
        return limit

    async def getconn(self, timeout: float) -> AsyncConnection[Any]:
        """Take a connection; else like `Pool.getconn`."""
        limit = self._limit()
        if limit.locked():
            await self._wait(limit, timeout)
        else:
            await limit.acquire()
        self._turns += 1
        end = monotonic() + timeout
        try:
            return self._take() or await self._connect(end)
        except BaseException:
            limit.release()
            raise

    async def _wait(self, limit: asyncio.Semaphore, timeout: float) -> None:
        while True:
            turns = self._turns
            try:
                async with asyncio.timeout(timeout):
                    await limit.acquire()
                return
            except TimeoutError as error:
                if self._turns == turns:
                    raise self._full() from error

    async def _connect(self, end: float) -> AsyncConnection[Any]:
        while True:
            try:
                left = max(2, round(end - monotonic()))
                where = await self._origin.aconninfo()
                conn = await AsyncConnection[Any].connect(
                    where, connect_timeout=left, **_options(where)
                )
                await self._origin.asettle(conn)
            except psycopg.OperationalError:
                if not self._met or monotonic() > end:
                    raise
                await asyncio.sleep(_KNOCK)
            else:
                self._met = True
                return conn

    async def putconn(self, conn: AsyncConnection[Any]) -> None:
        """Give a connection back. Nothing here waits: a cancelled call gives it back, too."""
        try:
            for each in self._keep(conn):
                each.pgconn.finish()
        finally:
            self._limit().release()

    async def check(self) -> None:
        """Close the idle connections: what cut another one may have cut them, too."""
        self._drop()

    def close(self) -> None:
        """Close the idle connections now, from any thread; those in use when they come back."""
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        for conn in self._empty():
            conn.pgconn.finish()


__all__ = ["AsyncPool", "Pool"]
