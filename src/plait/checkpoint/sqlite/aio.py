"""The peer's module path of the async SQLite saver, which is the sync one."""

from plait.checkpoint.sqlite import SqliteSaver

AsyncSqliteSaver = SqliteSaver

__all__ = ["AsyncSqliteSaver"]
