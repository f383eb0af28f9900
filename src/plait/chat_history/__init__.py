"""The messages of a session: in memory, SQLite, Postgres, or wherever a subclass keeps them."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.chat_history.base import BaseChatMessageHistory, InMemoryChatMessageHistory
    from plait.chat_history.base import InMemoryChatMessageHistory as ChatMessageHistory
    from plait.chat_history.postgres import PostgresChatMessageHistory
    from plait.chat_history.sqlite import SQLiteChatMessageHistory

_HOMES = {
    "BaseChatMessageHistory": "base",
    "ChatMessageHistory": "base",
    "InMemoryChatMessageHistory": "base",
    "PostgresChatMessageHistory": "postgres",
    "SQLiteChatMessageHistory": "sqlite",
}

__getattr__ = lazily(__name__, _HOMES)

__all__ = [
    "BaseChatMessageHistory",
    "ChatMessageHistory",
    "InMemoryChatMessageHistory",
    "PostgresChatMessageHistory",
    "SQLiteChatMessageHistory",
]
