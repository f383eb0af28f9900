"""Errors of SQLite, told in our words."""

from __future__ import annotations

import errno
import os
import sqlite3

from plait.common.sql import no_text
from plait.errors import CorruptCheckpointError, StorageError, StorageUnavailableError
from plait.sqlite.locks import by_whom
from plait.sqlite.paths import file_of, in_memory

_OTHERS = ("no such column", "no such table", "has no column", "already exists")
_FILES = 4
"""How many an open connection holds: the database, its log, the index of that, and the log again,
to see who cuts it short."""


def explain(error: sqlite3.Error | UnicodeEncodeError | OSError, path: str) -> Exception:
    """An error of SQLite, or of opening its files, as one of ours, with what to do next."""
    text = str(error.strerror if isinstance(error, OSError) else error)
    where = f"SQLite database {path!r}"
    if isinstance(error, UnicodeEncodeError):
        return no_text(error, where)
    if "too big" in text:
        return StorageError(
            f"{where} cannot hold a value of that size ({text}; the limit is 1 GB). Nothing was "
            "stored. Keep such a value in a file, and the file's name in the state."
        )
    if is_damage(error):
        return CorruptCheckpointError(
            f"{where} is damaged or is no SQLite file ({text}). Restore it from a backup; "
            "`sqlite3 FILE .recover` saves what can be read."
        )
    if "locked" in text or "busy" in text:
        return StorageUnavailableError(
            f"{where} was locked by {by_whom(path)} for too long ({text}). Is a transaction left "
            "open there? Nothing of this call was stored."
        )
    if "within a transaction" in text:
        return StorageUnavailableError(
            f"The connection to {where} that was given has a transaction open ({text}). Commit it "
            "or roll it back first; nothing of this call was stored."
        )
    if "closed database" in text:
        return StorageUnavailableError(
            f"The connection to {where} that was given was closed by its maker ({text}). Keep it "
            "open as long as what it was given to is used; nothing of this call was stored."
        )
    if "created in a thread" in text:
        return StorageUnavailableError(
            f"The connection to {where} that was given serves one thread only. Make it with "
            "sqlite3.connect(..., check_same_thread=False), or give the path."
        )
    if any(sign in text for sign in _OTHERS):
        return StorageUnavailableError(
            f"{where} has tables of another program under the names of plait's ({text}). Give "
            "another file; `plait import-langgraph` brings threads of LangGraph over."
        )
    if "readonly" in text:
        return StorageUnavailableError(
            f"{where} may only be read ({text}){_obstacle(path)}, and something was to be stored: "
            "perhaps tables of plait's, which it does not have yet, or of an older form, or the "
            "log beside it, which readers need too. Nothing was. Let this program write the file, "
            "its directory, and what lies beside it under its name, and call again."
        )
    if "full" in text:
        return StorageUnavailableError(f"{where}: no space left ({text}). Nothing was stored.")
    if "disk I/O" in text:
        return StorageUnavailableError(
            f"{where}: the system refused to read or write it ({text}). Its disk is full, a quota "
            "or a limit on the size of files is reached, or the disk fails. Nothing of this call "
            "was stored; mend that and go on: what was acknowledged is stored."
        )
    if "open" in text and _no_more_files():
        return StorageUnavailableError(
            f"{where} cannot be opened: the process has as many files open as it may "
            f"({text}). Nothing of this call was stored. Close what is no longer used (each saver "
            "and store that is open holds several files: make one, and share it), or let the "
            "process have more (`ulimit -n`)."
        )
    return StorageUnavailableError(
        f"{where} cannot be used ({text}){_obstacle(path)}. Check that its directory exists and "
        "can be written; nothing of this call was stored."
    )


def _obstacle(path: str) -> str:
    """What is wrong with a file and its directory, where that can be seen: SQLite does not say."""
    if in_memory(path):
        return ""
    file = file_of(path)
    folder = os.path.dirname(os.path.abspath(file))
    if os.path.isdir(file):
        return ": that is a directory"
    if not os.path.isdir(folder):
        return f": there is no directory {folder!r}, or no way into it"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f": this user may not write to its directory {folder!r}"
    return ""


def _no_more_files() -> bool:
    """Whether the process, or the system, opens no more: SQLite does not say why it cannot, and by
    now it has closed again what it could open."""
    opened: list[int] = []
    try:
        for _ in range(_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for each in opened:
            os.close(each)
    return False


def is_damage(error: BaseException) -> bool:
    """Whether what the file holds is damaged."""
    return any(sign in str(error) for sign in ("malformed", "not a database", "decode to UTF-8"))


def is_busy(error: BaseException | None) -> bool:
    """Whether somebody else is writing."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def has_writer(error: BaseException) -> bool:
    """Whether another connection was writing for as long as this one waits at a time."""
    return _code(error) == sqlite3.SQLITE_BUSY


def may_only_read(error: BaseException) -> bool:
    """Whether the connection was opened when its file was not to be written; it stays like that."""
    return _code(error) == sqlite3.SQLITE_READONLY


def concerns_file(error: BaseException) -> bool:
    """Whether the file, as a connection finds it, is what fails: another one may find it better."""
    return _code(error) in (
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_NOTADB,
    )


def _code(error: BaseException | None) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


__all__ = ["concerns_file", "explain", "has_writer", "is_busy", "is_damage", "may_only_read"]
