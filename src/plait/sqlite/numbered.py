"""Numbered parameters for Python 3.12.0 to 3.12.3, which warns of each of them.

They take `?1` for the name of a parameter, and call a sequence of values for it deprecated; 3.12.4
took that back (https://github.com/python/cpython/issues/117995). A program that turns warnings into
errors could store nothing there, and others would pay for each warning. By name, `?1` is "1".
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable, Sequence
from typing import Any, cast

WARNED_OF = (3, 12) <= sys.version_info[:3] < (3, 12, 4)
"""Whether this Python warns."""


class _Cursor(sqlite3.Cursor):
    def execute(self, sql: str, values: Sequence[Any] = (), /) -> _Cursor:  # type: ignore[override]
        super().execute(sql, _named(values) if values else ())
        return self

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> _Cursor:  # type: ignore[override]
        super().executemany(sql, map(_named, rows))
        return self


class NumberedConnection:
    """A connection whose statements name their values by number; else as the one that it has."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def cursor(self) -> Any:
        """See `sqlite3.Connection.cursor`."""
        return self._conn.cursor(_Cursor)

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """See `sqlite3.Connection.execute`."""
        return self.cursor().execute(sql, values)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Any:
        """See `sqlite3.Connection.executemany`."""
        return self.cursor().executemany(sql, rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conn, name)


def _named(values: Sequence[Any]) -> dict[str, Any]:
    return {str(number): value for number, value in enumerate(values, 1)}


def taken(conn: sqlite3.Connection) -> sqlite3.Connection:
    """A connection, as this Python runs plait's statements on it."""
    return cast("Any", NumberedConnection(conn)) if WARNED_OF else conn


__all__ = ["WARNED_OF", "NumberedConnection", "taken"]
