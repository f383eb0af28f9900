"""Work on a connection to SQLite in one transaction, which does not outlive what ends the work."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Literal, TypeVar

T = TypeVar("T")


def in_transaction(
    conn: sqlite3.Connection,
    work: Callable[[sqlite3.Connection], T],
    begin: Literal["BEGIN IMMEDIATE", "BEGIN"] = "BEGIN IMMEDIATE",
) -> T:
    """Do work on a connection in one transaction; what it raises rolls back.

    Args:
        conn: the connection.
        work: what to do.
        begin: how it begins: to write, or only to read.
    """
    own = not conn.in_transaction  # else BEGIN fails, and the transaction is not ours to end
    try:
        conn.execute(begin)  # a Ctrl-C that came while it waited is raised when it has begun
        result = work(conn)
        conn.execute("COMMIT")
    except BaseException:
        if own and conn.in_transaction:  # SQLite rolls back by itself when the disk is full
            conn.execute("ROLLBACK")
        raise
    return result


__all__ = ["in_transaction"]
