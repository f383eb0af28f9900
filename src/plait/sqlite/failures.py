"""Errors of SQLite, told in our words."""

from __future__ import annotations

import sqlite3

from plait.errors import CorruptCheckpointError, StorageError, StorageUnavailableError
from plait.sql import no_text

_OTHERS = ("no such column", "no such table", "has no column", "already exists")


def explain(error: sqlite3.Error | UnicodeEncodeError, path: str) -> Exception:
    """An error of SQLite as one of ours, with what to do next."""
    text = str(error)
    where = f"SQLite database {path!r}"
    if isinstance(error, UnicodeEncodeError):
        return no_text(error, where)
    if "too big" in text:
        return StorageError(
            f"{where} cannot hold a value of that size ({text}; the limit is 1 GB). Nothing was "
            "stored. Keep such a value in a file, and the file's name in the state."
        )
    if "malformed" in text or "not a database" in text:
        return CorruptCheckpointError(
            f"{where} is damaged or is no SQLite file ({text}). Restore it from a backup; "
            "`sqlite3 FILE .recover` saves what can be read."
        )
    if "locked" in text or "busy" in text:
        return StorageUnavailableError(
            f"{where} was locked by another connection for too long ({text}). Is a transaction "
            "left open in another program? Nothing of this call was stored."
        )
    if "within a transaction" in text:
        return StorageUnavailableError(
            f"The connection to {where} that was given has a transaction open ({text}). Commit it "
            "or roll it back first; nothing of this call was stored."
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
            f"{where} may only be read ({text}), and something was to be stored: perhaps tables of "
            "plait's, which it does not have yet, or of an older form. Nothing was."
        )
    if "full" in text:
        return StorageUnavailableError(f"{where}: no space left ({text}). Nothing was stored.")
    return StorageUnavailableError(
        f"{where} cannot be used ({text}). Check that its directory exists and can be written; "
        "nothing of this call was stored."
    )


__all__ = ["explain"]
