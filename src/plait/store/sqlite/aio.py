"""`AsyncSqliteStore`: the SQLite store under its async name, whose maintenance is awaited."""

from __future__ import annotations

from plait.store.base.maintained import AsyncSwept
from plait.store.sqlite.store import SqliteItems


class AsyncSqliteStore(AsyncSwept, SqliteItems):
    """Like `SqliteStore`, of which it has all arguments; `setup` and the sweeper are async here.

    >>> import asyncio
    >>> async def main():
    ...     async with AsyncSqliteStore.from_conn_string(":memory:") as store:
    ...         await store.setup()
    ...         await store.aput(("users", "ada"), "likes", {"drink": "tea"})
    ...         return (await store.aget(("users", "ada"), "likes")).value
    >>> asyncio.run(main())
    {'drink': 'tea'}
    """

    async def setup(self) -> None:
        """Open the database and bring its schema up to date now, instead of on first use."""
        await self._worker.call(self._open)


__all__ = ["AsyncSqliteStore"]
