"""Chat histories in Postgres: many processes and machines, sync and async."""

from __future__ import annotations

from collections.abc import Sequence

from plait.chat_history.base import BaseChatMessageHistory
from plait.chat_history.written import written
from plait.common.closing import ClosedAtEnd
from plait.common.ids import new_id
from plait.common.sql import Statements
from plait.load import loads
from plait.messages import BaseMessage
from plait.postgres import Database, Schema, Steps, Target, from_text, text_array, to_text

_SQL = Statements("plait.chat_history.postgres")
_SCHEMA = Schema("plait.chat_history.postgres", "chat_history")


class PostgresChatMessageHistory(BaseChatMessageHistory, ClosedAtEnd):
    """The messages of one session, in a Postgres database that is connected to on first use.

    Messages are JSON text in the field's form; reading them makes messages and nothing else. The
    same object serves sync and async programs.

    Args:
        session_id: The session.
        connection: A connection string; or a pool or a connection of psycopg 3's, which you close
            yourself. Threads (`PostgresSaver`) and items (`PostgresStore`) may live beside them.
        max_connections: How many connections to open at most, where `connection` is a string.
        timeout: Seconds to wait for a free connection, and for a server that restarts.
    """

    def __init__(
        self,
        session_id: str,
        connection: Target,
        *,
        max_connections: int = 10,
        timeout: float = 30.0,
    ) -> None:
        self.session_id = session_id
        self._database = Database(
            connection, _SCHEMA, max_connections=max_connections, timeout=timeout
        )

    def close(self) -> None:
        """Close the connections that were opened here."""
        self._database.close()

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first, as they are in the database now."""
        return self._database.run(self._read)

    async def aget_messages(self) -> list[BaseMessage]:
        """The messages, oldest first, as they are in the database now."""
        return await self._database.arun(self._read)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages: all or, if that fails, none.

        Raises:
            InvalidMessageError: One of them could not be read again.
        """
        added = _Batch(self.session_id, messages)
        self._database.run(added.steps)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages: all or, if that fails, none."""
        added = _Batch(self.session_id, messages)
        await self._database.arun(added.steps)

    def clear(self) -> None:
        """Forget all messages of the session."""
        self._database.run(self._clear)

    async def aclear(self) -> None:
        """Forget all messages of the session."""
        await self._database.arun(self._clear)

    def _read(self) -> Steps[list[BaseMessage]]:
        rows = yield _SQL.read_messages, (to_text(self.session_id),)
        return [loads(from_text(row[0])) for row in rows]

    def _clear(self) -> Steps[None]:
        yield _SQL.clear, (to_text(self.session_id),)


class _Batch:
    """Messages that are added together, once, however often that is tried."""

    def __init__(self, session_id: str, messages: Sequence[BaseMessage]) -> None:
        self._texts = [to_text(written(message)) for message in messages]
        self._names = (to_text(session_id), new_id())

    def steps(self) -> Steps[None]:
        yield _SQL.add_messages, (*self._names, text_array(self._texts))


__all__ = ["PostgresChatMessageHistory"]
