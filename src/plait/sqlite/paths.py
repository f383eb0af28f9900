"""Where a SQLite database lies, for as long as the program runs, and whether the file of that name
is still the one that was opened.
"""

from __future__ import annotations

import os
import sqlite3
from urllib.parse import quote, unquote

from plait.errors import StorageUnavailableError

_URI = "file:"


def settled(path: str) -> str:
    """A path or `file:` URI that means the same file after the program has changed its directory.

    >>> settled(":memory:"), settled("/srv/a.db"), settled("file:/srv/a.db?mode=ro")
    (':memory:', '/srv/a.db', 'file:/srv/a.db?mode=ro')
    >>> settled("a.db") == os.path.join(os.getcwd(), "a.db")
    True
    """
    if in_memory(path):
        return path
    if not path.startswith(_URI):
        return os.path.abspath(path)
    name, sign, query = path.removeprefix(_URI).partition("?")
    if name.startswith("/"):
        return path
    return f"{_URI}{quote(os.path.abspath(unquote(name)))}{sign}{query}"


def in_memory(path: str) -> bool:
    """Whether no file of that name is made: no other process can open it.

    >>> in_memory(":memory:"), in_memory("file::memory:?cache=shared"), in_memory("a.db")
    (True, True, False)
    """
    if not path.startswith(_URI):
        return path in ("", ":memory:")
    name, _, query = path.removeprefix(_URI).partition("?")
    return name in ("", ":memory:") or "mode=memory" in query or "vfs=memdb" in query


def path_of(conn: sqlite3.Connection) -> str:
    """The file of a connection ("": in memory)."""
    cursor = conn.cursor()
    cursor.row_factory = None
    path = cursor.execute("PRAGMA database_list").fetchone()[2]
    return os.fsdecode(path) if path else ""


class File:
    """A file that is open, told from others that get its name."""

    __slots__ = ("_id", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._id = _id(path)

    def check(self) -> None:
        """Raise StorageUnavailableError unless the file still has its name."""
        if self._id is not None and _id(self._path) != self._id:
            raise StorageUnavailableError(
                f"SQLite database {self._path!r} was deleted or replaced while it was open. What "
                "this program stored since then is lost with the old file; nothing of this call "
                "was done. Open the new file with a new saver or store."
            )


def _id(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


__all__ = ["File", "in_memory", "path_of", "settled"]
