"""`AsyncPostgresStore`: the Postgres store under its async name, whose maintenance is awaited."""

from __future__ import annotations

from plait.store.base.maintained import AsyncSwept
from plait.store.postgres.store import PostgresItems


class AsyncPostgresStore(AsyncSwept, PostgresItems):
    """Like `PostgresStore`, with all its arguments; `setup` and the sweeper are async here."""

    async def setup(self) -> None:
        """Bring the schema up to date now, instead of on first use. Safe to call at any time."""
        await self._database.aset_up()


__all__ = ["AsyncPostgresStore"]
