"""Where a SQLite database lies, for as long as the program runs, and whether the files of that name
are still the ones that were opened.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Any, cast
from urllib.parse import quote, unquote

from plait.errors import ConfigError, StorageUnavailableError

_URI = "file:"
_LOG_HEAD = 32
_PAGE_HEAD = 24
"""Bytes before the pages of a log, and before each one, by the format of SQLite."""


def named(target: Any) -> str:
    """The path or URI by which a program names a database.

    Raises:
        ConfigError: It names none of SQLite's.

    >>> named(b"a.db"), named("file:a.db?mode=ro")
    ('a.db', 'file:a.db?mode=ro')
    """
    try:
        path = os.fsdecode(target)
    except TypeError:
        kind = cast("type[Any]", type(target))
        hint = "Of aiosqlite, give the path that `connect` was given: async calls work on it, too. "
        raise ConfigError(
            "A SQLite database is a path, a file: URI, ':memory:', or an open connection of "
            f"sqlite3; this is a {kind.__name__} (of {kind.__module__}). "
            f"{hint if kind.__module__.startswith('aiosqlite') else ''}If a setting of the "
            "environment was to name it, check that it is set."
        ) from None
    scheme, url, _ = path.partition("://")
    if url and scheme != "file":
        raise ConfigError(  # which does not show the URL: it may hold a password
            f"A SQLite database is named by its path, not by a URL ({scheme}://). Leave out what "
            "stands before the path ('sqlite:///a.db' is 'a.db'); databases of a Postgres server "
            "are those of PostgresSaver and PostgresStore."
        )
    if not path:
        raise ConfigError(  # SQLite would make a file that is gone when it is closed
            "The path of a SQLite database is empty. Give one, or ':memory:' for a database that "
            "lasts as long as this object. If a setting of the environment was to name it, check "
            "that it is set."
        )
    if "\0" in path:
        raise ConfigError(f"The path {path!r} of a SQLite database has a NUL in it.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ConfigError(f"The path {path!r} of a SQLite database is no valid text.") from None
    return path


def settled(path: str) -> str:
    """A path or `file:` URI that means the same file after the program has changed its directory,
    or somebody where a link leads.

    >>> settled(":memory:"), settled("/srv/a.db"), settled("file:/srv/a.db?mode=ro")
    (':memory:', '/srv/a.db', 'file:/srv/a.db?mode=ro')
    >>> settled("a.db") == os.path.join(os.getcwd(), "a.db")
    True
    """
    if in_memory(path):
        return path
    if not path.startswith(_URI):
        return os.path.realpath(path)
    name, sign, query = path.removeprefix(_URI).partition("?")
    if name.startswith("//"):  # after it, the host
        return path
    real = os.path.realpath(unquote(name, errors="surrogateescape"))
    return f"{_URI}{quote(real, errors='surrogateescape')}{sign}{query}"


def file_of(path: str) -> str:
    """The name of the file that a path or `file:` URI means.

    >>> file_of("/srv/a.db"), file_of("file:///srv/a%20b.db?mode=ro"), file_of("file:a.db")
    ('/srv/a.db', '/srv/a b.db', 'a.db')
    """
    if not path.startswith(_URI):
        return path
    name = path.removeprefix(_URI).partition("?")[0]
    if name.startswith("//"):
        name = f"/{name[2:].partition('/')[2]}"  # without the host
    return unquote(name, errors="surrogateescape")


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
        self._id = _found(path)[0]

    def check(self) -> None:
        """Raise StorageUnavailableError unless the file still has its name, and something in it."""
        id, size = _found(self._path)
        if id is None or id != self._id:
            raise StorageUnavailableError(
                f"SQLite database {self._path!r} was deleted or replaced while it was open. What "
                "this program stored since then is lost with the old file; nothing of this call "
                "was done. Open the new file with a new saver or store."
            )
        if not size:
            raise StorageUnavailableError(
                f"SQLite database {self._path!r} was emptied while it was open; nothing of this "
                "call was done. Stop the programs that use it, put a backup in its place, and "
                "delete what lies beside it under its name."
            )


def _found(path: str) -> tuple[tuple[int, int] | None, int]:
    """Which file has a name (None: there is none), and its size."""
    try:
        found = os.stat(path)
    except OSError:
        return None, 0
    return (found.st_dev, found.st_ino), found.st_size


class Log:
    """The log beside a file (`-wal`), as an open connection writes it.

    While it is open, nobody deletes the log by the rules of SQLite. Whoever reads the file itself
    in this process ends the locks that say so, though, by closing it: the next program that uses
    the file takes itself for the last one, and deletes the log when it closes.

    It is cut short only when all of it was folded in. Whoever overwrites it does so at any time:
    SQLite would go on behind the gap, and nobody would find what is stored there.
    """

    __slots__ = ("_fd", "_path", "_size")

    def __init__(self, path: str, fd: int) -> None:
        self._path = path
        self._fd = fd
        self._size = os.fstat(fd).st_size

    @classmethod
    def of(cls, path: str) -> Log | None:
        """The log beside a file (None: it has none, since it may only be read)."""
        try:
            return cls(path, os.open(f"{path}-wal", os.O_RDONLY))
        except FileNotFoundError:
            return None

    def check(self) -> bool:
        """Whether the log is shorter than it was, so that `settle` must say by whose hand.

        Raises StorageUnavailableError if it was deleted: nobody would find what it holds.
        """
        found = os.fstat(self._fd)
        if not found.st_nlink:
            raise StorageUnavailableError(
                f"The log of SQLite database {self._path!r} (the file of that name with -wal) was "
                "deleted while it was open: by hand, or by another program, after this one read "
                "the database as a plain file. Nothing of this call was done. Close this saver or "
                "store, which keeps what the deleted log holds, and open another one. Copy an "
                "open database by `sqlite3 FILE .backup`, never by `cp` or a plain read."
            )
        if found.st_size < self._size:
            return True
        self._size = found.st_size
        return False

    def settle(self, pages: int, page_size: int) -> bool:
        """Whether the log is long enough for the pages that it must hold; then it may be so short.

        Args:
            pages: How many these are.
            page_size: Bytes of one.
        """
        size = os.fstat(self._fd).st_size
        if pages and size < _LOG_HEAD + pages * (_PAGE_HEAD + page_size):
            return False
        self._size = size
        return True

    def cut(self, why: str) -> StorageUnavailableError:
        """The error of a log that somebody cut short."""
        return StorageUnavailableError(
            f"The log of SQLite database {self._path!r} (the file of that name with -wal) was cut "
            f"short or overwritten while it was open ({why}). What was stored last is lost with "
            "it; nothing of this call was done. Stop the programs that use the database, and put "
            "a backup in its place; delete what lies beside it under its name first. Never write "
            "to the files of an open database: `sqlite3 FILE .restore` brings a backup back."
        )

    def __del__(self) -> None:
        os.close(self._fd)


__all__ = ["File", "Log", "file_of", "in_memory", "named", "path_of", "settled"]
