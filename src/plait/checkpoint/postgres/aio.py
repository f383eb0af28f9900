"""`AsyncPostgresSaver`: the Postgres saver under its async name, whose `setup` is awaited."""

from __future__ import annotations

from plait.checkpoint.postgres.saver import PostgresLog


class AsyncPostgresSaver(PostgresLog):
    """Like `PostgresSaver`, of which it has all arguments; `setup` is async here."""

    async def setup(self) -> None:
        """Bring the schema up to date now, instead of on first use. Safe to call at any time."""
        await self._database.aset_up()


__all__ = ["AsyncPostgresSaver"]
