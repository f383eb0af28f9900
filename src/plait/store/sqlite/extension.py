"""sqlite-vec: similarity inside SQLite, where it is installed and Python loads extensions."""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import Any


def has_extension(conn: sqlite3.Connection, probe: str) -> bool:
    """Whether a connection has sqlite-vec; it is loaded where that is possible.

    Args:
        conn: The connection.
        probe: A statement that works on connections that have it.
    """
    module = _module()
    if module is None or not hasattr(conn, "enable_load_extension"):
        return False
    try:
        conn.execute(probe).close()
    except sqlite3.OperationalError:
        return _load(conn, module)
    return True


def _load(conn: sqlite3.Connection, module: Any) -> bool:
    try:
        conn.enable_load_extension(True)
        try:
            module.load(conn)
        finally:
            conn.enable_load_extension(False)
    except sqlite3.Error:  # this build of SQLite, or this platform, cannot: numpy or Python does it
        return False
    return True


@cache
def _module() -> Any:
    try:
        import sqlite_vec  # pyright: ignore
    except ImportError:
        return None
    return sqlite_vec
