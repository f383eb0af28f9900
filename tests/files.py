"""Where the files of tests lie: in memory, where there is room for them.

No test here cuts the power, and a process that is killed leaves the same there as on a disk. A
commit of SQLite that waits for the disk takes a hundred times as long; the tests make some hundred
thousand. `TMPDIR` says otherwise.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30
"""Bytes that must be free: containers often have 64 MB there."""


def keep_in_memory() -> None:
    """Let temporary files, also those of child processes, lie in memory from now on."""
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # asked for before


def _has_room(folder: Path) -> bool:
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    space = os.statvfs(folder)
    runs_programs = not space.f_flag & os.ST_NOEXEC
    return runs_programs and space.f_bavail * space.f_frsize >= ROOM
