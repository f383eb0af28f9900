"""Where a connection string, a pool or a connection leads to, and how to open more connections.

The heartbeat and a forked child need connections of their own beside those that a program gave.
They must reach the same tables: by the same string, which a pool may ask for anew each time (tokens
as passwords expire), and with the schema and the role that a program has set after connecting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from inspect import isawaitable
from typing import Any, cast

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from plait.errors import ConfigError
from plait.postgres.failures import explain, unreadable
from plait.postgres.home import wait_at
from plait.postgres.steps import Steps

_SESSION = "SELECT current_setting('search_path'), current_setting('role')"
_SAME = """
SELECT set_config(name, value, false)
FROM (VALUES ('search_path', %s), ('role', %s)) AS session (name, value)
WHERE current_setting(name) <> value
"""  # no more than that: behind a pooler, what is set stays with a connection of others


class Origin:
    """One database, as a program named it.

    Args:
        target: A connection string; or a pool or a connection of psycopg's.
    """

    def __init__(self, target: Any) -> None:
        self.given = not isinstance(target, str)
        """Whether a program opens the connections, and may do more to them than a string says."""
        self.home: asyncio.AbstractEventLoop | None = None
        """The event loop of async connections that were given."""
        self._options: Any = None
        self._session: tuple[str, str] | None = None
        self._prepared = False
        name = ""
        if isinstance(target, Connection | AsyncConnection):
            self._text: Any = _reached(cast("Connection[Any]", target))
        elif isinstance(target, ConnectionPool | AsyncConnectionPool):
            pool = cast("ConnectionPool[Any]", target)
            self._text, self._options = pool.conninfo, pool.kwargs
            self._prepared = getattr(pool, "_configure", None) is not None
            name = f"The Postgres database of the pool {pool.name!r}"
        else:
            self._text = _checked(target)
        if not callable(self._text) and not callable(self._options):
            name = _name(_joined(self._text, self._options))
        self.name = name
        """What to call it in errors: no password is in it."""

    def conninfo(self) -> str:
        """A connection string for one more connection."""
        return _joined(*(self._asked(part) for part in (self._text, self._options)))

    async def aconninfo(self) -> str:
        """Async twin of `conninfo`."""
        given = (self._text, self._options)
        parts: list[Any] = [part() if callable(part) else part for part in given]
        return _joined(*[await part if isawaitable(part) else part for part in parts])

    def _asked(self, part: Any) -> Any:
        if not callable(part):
            return part
        value: Any = part()
        return self._waited(value) if isawaitable(value) else value

    def _waited(self, work: Awaitable[Any]) -> Any:
        """What a pool's async function returns; on its event loop, where its clients may belong."""

        async def value() -> Any:
            return await work

        if self.home is not None and self.home.is_running():
            return wait_at(self.home, value(), self.name)
        with ThreadPoolExecutor(1) as beside:  # an event loop may run in this thread
            return beside.submit(asyncio.run, value()).result()

    def learn(self) -> Steps[None]:
        """Note what a connection that was given looks at: whoever opens more must see the same."""
        [(path, role)] = yield _SESSION, ()
        self._session = path, role

    def settle(self, conn: Connection[Any]) -> None:
        """Let a new connection look at what those that were given do; closes it if that fails."""
        if self._session is None:
            return
        try:
            conn.execute(_SAME, self._session)
        except BaseException:
            conn.close()
            raise

    async def asettle(self, conn: AsyncConnection[Any]) -> None:
        """Async twin of `settle`."""
        if self._session is None:
            return
        try:
            await conn.execute(_SAME, self._session)
        except BaseException:
            conn.pgconn.finish()  # cancelled, nothing more is waited for
            raise

    def check(self) -> None:
        """Before connections of our own are opened in place of those that were given.

        Raises:
            ConfigError: Nobody knows what a pool's `configure` has done to them.
        """
        if self._prepared and self._session is None:
            raise ConfigError(
                f"{self.name}: the pool that was given was made before the process forked, and no "
                "child can use it. It has a `configure`, so what its connections look at (their "
                "search_path, their role) is not known here. Call `setup()` before the fork, or "
                "make the pool in the child, or give a connection string."
            )


def _joined(text: str, options: dict[str, Any] | None) -> str:
    """A connection string with the options of a pool that are libpq's, not psycopg's."""
    if not options:
        return text
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    return make_conninfo(text, **{name: options[name] for name in options.keys() & known})


def _reached(conn: Connection[Any]) -> str:
    try:
        return make_conninfo(conn.info.dsn, password=conn.info.password or None)
    except psycopg.Error as error:
        raise explain(error, "The Postgres connection that was given") from error


def _checked(target: Any) -> str:
    if not isinstance(target, str):
        raise unreadable(f"it is of type {type(target).__name__}")
    try:
        known = conninfo_to_dict(target)
    except psycopg.Error:
        raise unreadable("libpq cannot read it") from None  # its error quotes passwords
    # Only a socket's abstract name begins with "@".
    if "://" in target and "@" in (str(known.get("host", ""))[1:] + str(known.get("dbname", ""))):
        raise unreadable("the password in it has a character that ends it")
    return target


def _name(conninfo: str) -> str:
    """What to call a database, without its password."""
    known = conninfo_to_dict(conninfo)
    if service := known.get("service"):
        return f"Postgres service {service!r}"
    host, name = known.get("host") or "localhost", known.get("dbname") or known.get("user") or ""
    return f"Postgres database {name!r} on {str(host)!r}"


__all__ = ["Origin"]
