"""Who holds a SQLite file locked, as far as the system tells: Linux does, in `/proc/locks`."""

from __future__ import annotations

import os
from pathlib import Path

from plait.sqlite.paths import file_of

_MOST_WORDS = 60
"""Characters of a command that are told."""


def lockers(path: str) -> list[str]:
    """The other processes that hold a write lock on a database, told for people.

    Args:
        path: A path or a `file:` URI.
    """
    wanted = [id for name in _beside(file_of(path)) if (id := _lock_id(name)) is not None]
    found: dict[int, None] = {}
    try:
        lines = Path("/proc/locks").read_text("ascii", "replace").splitlines()
    except OSError:
        return []
    for line in lines:
        words = line.split()
        if len(words) == 8 and words[3] == "WRITE" and words[5] in wanted:
            found[int(words[4])] = None
    return [_told(pid) for pid in found if pid > 0 and pid != os.getpid()]


def by_whom(path: str) -> str:
    """Who holds a database locked, for a sentence that says that it is."""
    return " and ".join(lockers(path)) or "another program"


def _beside(path: str) -> tuple[str, str]:
    return path, f"{path}-shm"


def _lock_id(name: str) -> str | None:
    """A file as `/proc/locks` names it."""
    try:
        found = os.stat(name)
    except OSError:
        return None
    return f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"


def _told(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    command = " ".join(word.decode(errors="replace") for word in words if word)
    if not command.isprintable():
        command = ascii(command)[1:-1]
    short = command if len(command) <= _MOST_WORDS else f"{command[: _MOST_WORDS - 1]}…"
    return f"process {pid} ({short})" if short else f"process {pid}"


__all__ = ["by_whom", "lockers"]
