"""One Postgres database: its connections, opened on first use and again in a forked child.

Each call takes a connection of its own for as long as it lasts, so calls of different threads and
tasks run side by side. A call whose connection breaks is done once more on another one; everything
that goes through here is written so that this is safe (see `checkpoint/postgres/migrations`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeAlias, TypeVar, cast
from weakref import WeakSet, WeakValueDictionary

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.errors import ReadOnlySqlTransaction, SerializationFailure
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from plait.errors import ConfigError, StorageUnavailableError
from plait.postgres.arrays import teach
from plait.postgres.failures import (
    dropped,
    explain,
    other_encoding,
    pipeline_open,
    rolled_back,
    transaction_open,
)
from plait.postgres.home import wait_at
from plait.postgres.origin import Origin
from plait.postgres.pool import AsyncPool, Pool
from plait.postgres.schema import Schema, seeing_others
from plait.postgres.single import AsyncSingle, Single
from plait.postgres.steps import Steps, arun_steps, run_steps

T = TypeVar("T")
Target: TypeAlias = (
    str | Connection[Any] | ConnectionPool[Any] | AsyncConnection[Any] | AsyncConnectionPool[Any]
)
_OPEN = (TransactionStatus.INTRANS, TransactionStatus.INERROR)
_TRIES = 2
_LONGEST = 1e9
"""Seconds that are waited at most: psycopg counts those of a connection in 32 bits."""
_AGAIN = 5
"""How often a transaction is tried that the server rolls back because of others."""

_inherited: list[Any] = []
"""Pools of the parent process: never used again, and never closed by a child either."""


class Database:
    """The connections to a database, for sync calls and for async ones.

    Args:
        target: A connection string; or a pool or connection of psycopg's, sync or async, which
            stays its maker's to close; or the `origin` of another Database.
        schema: The tables it must have; they are brought up to date on first use.
        max_connections: How many connections to open at most, where `target` is a string.
        timeout: Seconds to wait for a free connection.

    Raises:
        ConfigError: What was given is no target, number of connections, or number of seconds.
    """

    def __init__(
        self,
        target: Target | Origin,
        schema: Schema,
        *,
        max_connections: int = 10,
        timeout: float = 30.0,
    ) -> None:
        self._schema = schema
        self._max = _connections(max_connections)
        self._timeout = _seconds(timeout)
        self.origin = target if isinstance(target, Origin) else Origin(target)
        """How to open more connections to it."""
        self._where = self.origin.name
        self._given = _as_pool(target) if isinstance(target, Connection | ConnectionPool) else None
        self._agiven = (
            _as_pool(target) if isinstance(target, AsyncConnection | AsyncConnectionPool) else None
        )
        if self._agiven is not None:
            self.origin.home = _running_loop()
        self._pool: Any = self._given
        self._apool: Any = self._agiven
        self._ready = False
        self._closed = False
        self._lock = Lock()
        _all.add(self)

    # --- sync ------------------------------------------------------------------------------------

    def run(self, make: Callable[[], Steps[T]], *, together: bool = False) -> T:
        """Run steps on a connection, with errors told in our words.

        Args:
            make: Makes the steps; called again when they must be done once more.
            together: Run them in one transaction.
        """
        if self._agiven is not None:
            return self._run_at_home(make, together)
        if not self._ready:
            self._set_up()
        return self._run(make, together)

    def set_up(self) -> None:
        """Bring the tables up to date now, instead of on first use."""
        self.run(_nothing)

    def _set_up(self) -> None:
        schema = self._schema
        if self._given is not None:
            self._run(self.origin.learn, False)
        if self._run(schema.version, False) < schema.latest:
            self._run(schema.migrate, True)
        self._ready = True

    def _run(self, make: Callable[[], Steps[T]], together: bool) -> T:
        pool: Any = self._pool if self._pool is not None else self._open()
        tries = _TRIES
        again = _AGAIN
        serial = False
        while True:
            try:
                conn: Connection[Any] = pool.getconn(self._timeout)
            except (psycopg.Error, OSError) as error:
                raise explain(cast("Exception", error), self._where) from error
            try:
                if self._given is not None:
                    self._accept(conn)
                steps = seeing_others(make()) if serial else make()
                return run_steps(conn, steps, together or serial)
            except (psycopg.Error, UnicodeEncodeError) as error:
                tries -= 1
                again -= 1
                serial = serial or isinstance(error, SerializationFailure)
                if self._given is None and isinstance(error, ReadOnlySqlTransaction):
                    conn.pgconn.finish()  # a session may be so for ever; a new one need not be
                lost = dropped(error, conn)
                if (not lost or tries <= 0) and (not rolled_back(error) or again <= 0):
                    raise explain(error, self._where) from error
            finally:
                pool.putconn(conn)
            if lost:
                pool.check()  # what cut this connection may have cut the idle ones

    def _open(self) -> Any:
        with self._lock:
            if self._pool is None:
                self._refuse_closed()
                self.origin.check()
                self._pool = Pool(self.origin, self._max)
            return self._pool

    def _run_at_home(self, make: Callable[[], Steps[T]], together: bool) -> T:
        """Do a sync call with async connections: on the event loop that they belong to."""
        home = self.origin.home
        if home is None or not home.is_running() or home is _running_loop():
            raise asyncio.InvalidStateError(
                f"{self._where}: a sync method was called where only async ones can work: the "
                "connections that were given belong to an event loop, which does not run, or runs "
                "in this very thread. Use the async method (`ainvoke`, `aget_tuple`, ...), or give "
                "a connection string or a ConnectionPool."
            )
        return wait_at(home, self.arun(make, together=together), self._where)

    # --- async -----------------------------------------------------------------------------------

    async def arun(self, make: Callable[[], Steps[T]], *, together: bool = False) -> T:
        """Run steps on a connection, without blocking the event loop; else like `run`."""
        if self._given is not None:
            return await asyncio.to_thread(self.run, make, together=together)
        if self._agiven is not None:
            self.origin.home = asyncio.get_running_loop()
        if not self._ready:
            await self._aset_up()
        return await self._arun(make, together)

    async def aset_up(self) -> None:
        """Async twin of `set_up`."""
        await self.arun(_nothing)

    async def _aset_up(self) -> None:
        schema = self._schema
        if self._agiven is not None:
            await self._arun(self.origin.learn, False)
        if await self._arun(schema.version, False) < schema.latest:
            await self._arun(schema.migrate, True)
        self._ready = True

    async def _arun(self, make: Callable[[], Steps[T]], together: bool) -> T:
        pool: Any = self._apool if self._apool is not None else self._aopen()
        tries = _TRIES
        again = _AGAIN
        serial = False
        while True:
            try:
                conn: AsyncConnection[Any] = await pool.getconn(self._timeout)
            except (psycopg.Error, OSError) as error:
                raise explain(cast("Exception", error), self._where) from error
            try:
                if self._agiven is not None:
                    self._accept(conn)
                steps = seeing_others(make()) if serial else make()
                return await arun_steps(conn, steps, together or serial)
            except (psycopg.Error, UnicodeEncodeError) as error:
                tries -= 1
                again -= 1
                serial = serial or isinstance(error, SerializationFailure)
                if self._agiven is None and isinstance(error, ReadOnlySqlTransaction):
                    conn.pgconn.finish()  # a session may be so for ever; a new one need not be
                lost = dropped(error, conn)
                if (not lost or tries <= 0) and (not rolled_back(error) or again <= 0):
                    raise explain(error, self._where) from error
            finally:
                await pool.putconn(conn)
            if lost:
                await pool.check()

    def _aopen(self) -> Any:
        with self._lock:
            if self._apool is None:
                self._refuse_closed()
                self.origin.check()
                self._apool = AsyncPool(self.origin, self._max)
            return self._apool

    # --- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connections that were opened here. A later use raises."""
        with self._lock:
            self._closed = True
            pools = [p for p in (self._pool, self._apool) if isinstance(p, Pool | AsyncPool)]
            self._pool = self._apool = None
        for pool in pools:
            pool.close()

    def free(self) -> None:
        """In a forked child: the parent's connections are not ours to use or to close."""
        self._lock = Lock()
        _inherited.extend((self._pool, self._apool))
        self._given = self._agiven = self._pool = self._apool = self.origin.home = None

    def _accept(self, conn: Connection[Any] | AsyncConnection[Any]) -> None:
        """Make a connection that was given ready for a call, or refuse it."""
        if conn.pgconn.transaction_status in _OPEN:
            raise transaction_open(self._where)
        if conn.pgconn.pipeline_status != PipelineStatus.OFF:
            raise pipeline_open(self._where)
        encoding = conn.pgconn.parameter_status(b"client_encoding")
        if encoding != b"UTF8":
            raise other_encoding(self._where, encoding)
        teach(conn.adapters)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StorageUnavailableError(
                f"{self._where} is closed. Use what it belongs to inside its `with` block, or open "
                "another one."
            )


def _connections(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ConfigError(f"max_connections is {given!r}: pass a whole number of at least 1.")
    return given


def _seconds(given: Any) -> float:
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not number or not given >= 0:
        raise ConfigError(f"timeout is {given!r}: pass a number of seconds, 0 or more.")
    return float(min(given, _LONGEST))


def _nothing() -> Steps[None]:
    return
    yield


def _as_pool(target: Any) -> Any:
    """What hands out connections; one that was given to several goes from hand to hand."""
    if isinstance(target, Connection):
        return _singles.setdefault(target, Single(cast("Connection[Any]", target)))
    if isinstance(target, AsyncConnection):
        return _singles.setdefault(target, AsyncSingle(cast("AsyncConnection[Any]", target)))
    return target


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


_singles: WeakValueDictionary[Any, Any] = WeakValueDictionary()
_all: WeakSet[Database] = WeakSet()


def _after_fork() -> None:
    for database in _all:
        database.free()


os.register_at_fork(after_in_child=_after_fork)

__all__ = ["Database", "Target"]
