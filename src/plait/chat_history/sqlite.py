"""Chat histories in a SQLite file, which may hold threads, items and caches as well."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence

from plait.chat_history.base import BaseChatMessageHistory
from plait.chat_history.written import written
from plait.common.closing import ClosedAtEnd
from plait.load import loads
from plait.messages import BaseMessage
from plait.sqlite import Database, Schema, Statements, fetch

_SQL = Statements("plait.chat_history")
_SCHEMA = Schema("plait.chat_history", "chat_history")


class SQLiteChatMessageHistory(BaseChatMessageHistory, ClosedAtEnd):
    """The messages of one session, in a SQLite database that is opened on first use.

    Messages are JSON text in the field's form; reading them makes messages and nothing else.

    Args:
        session_id: The session.
        connection: A path, a `file:` URI, ":memory:", or an open connection made with
            `check_same_thread=False`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SQLiteChatMessageHistory("ann", f"{folder}/chat.sqlite") as history:
    ...         history.add_user_message("hi")
    ...     with SQLiteChatMessageHistory("ann", f"{folder}/chat.sqlite") as history:
    ...         print(history)
    Human: hi
    """

    def __init__(
        self, session_id: str, connection: str | os.PathLike[str] | sqlite3.Connection
    ) -> None:
        self.session_id = session_id
        self._database = Database(connection, _SCHEMA)

    def close(self) -> None:
        """Close the database, unless it was given open."""
        self._database.close()

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first, as they are in the database now."""
        rows = self._database.run(lambda conn: fetch(conn, _SQL.read_messages, self.session_id))
        return [loads(row[0]) for row in rows]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages: all or, if that fails, none.

        Raises:
            InvalidMessageError: One of them could not be read again.
        """
        rows = [(self.session_id, written(message)) for message in messages]
        self._database.transact(lambda conn: conn.executemany(_SQL.add_message, rows))

    def clear(self) -> None:
        """Forget all messages of the session."""
        self._database.transact(lambda conn: conn.execute(_SQL.clear, (self.session_id,)))


__all__ = ["SQLiteChatMessageHistory"]
