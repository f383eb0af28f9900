"""LangGraph's SQLite databases (langgraph-checkpoint-sqlite), opened read-only."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from plait.errors import ConfigError, CorruptCheckpointError, StorageUnavailableError
from plait.importing.rows import (
    PeerCheckpoint,
    PeerTask,
    PeerWrite,
    Size,
    Source,
    checkpoint_of,
    told,
)
from plait.importing.values import read_checkpoint
from plait.sqlite.failures import is_damage

_CHECKPOINTS = {"thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "type",
                "checkpoint", "metadata"}  # fmt: skip

_THREADS = "SELECT DISTINCT CAST(thread_id AS TEXT) AS thread FROM checkpoints ORDER BY thread"
_PARENTS = """
SELECT CAST(checkpoint_ns AS TEXT) AS ns, CAST(checkpoint_id AS TEXT) AS id,
    CAST(parent_checkpoint_id AS TEXT)
FROM checkpoints WHERE thread_id = ? ORDER BY ns, id
"""
_TASKS = """
SELECT DISTINCT CAST(checkpoint_ns AS TEXT), CAST(checkpoint_id AS TEXT), CAST(task_id AS TEXT),
    {path}
FROM writes WHERE thread_id = ?
"""
_ROWS = """
SELECT CAST(checkpoint_id AS TEXT) AS id, CAST(parent_checkpoint_id AS TEXT),
    coalesce(CAST(type AS TEXT), ''), CAST(checkpoint AS BLOB), CAST(metadata AS BLOB)
FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY id
"""
_WRITES = """
SELECT CAST(task_id AS TEXT) AS task, {path} AS path, CAST(channel AS TEXT),
    coalesce(CAST(type AS TEXT), 'null'), coalesce(CAST(value AS BLOB), x'')
FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
ORDER BY path, task, idx
"""


class SqliteSource(Source):
    """A file of LangGraph's `SqliteSaver`.

    Args:
        path: The file.

    Raises:
        ConfigError: There is no such file, or it is no database of LangGraph's.
        StorageUnavailableError: It cannot be opened.
    """

    SQL_THREADS = _THREADS
    SQL_PARENTS = _PARENTS

    def __init__(self, path: str | os.PathLike[str]) -> None:
        found = Path(path)
        if not found.is_file():
            raise ConfigError(f"There is no file {str(found)!r} to import from.")
        self._at = found
        try:
            self._conn = sqlite3.connect(f"{found.resolve().as_uri()}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        columns = self._columns("checkpoints")
        if not columns >= _CHECKPOINTS:
            self.close()
            raise ConfigError(
                f"{str(found)!r} is no database of LangGraph's SqliteSaver: its table of "
                f"checkpoints lacks {sorted(_CHECKPOINTS - columns)}. Give the file that the old "
                "program's saver was opened with."
            )
        self._path = "CAST(task_path AS TEXT)" if "task_path" in self._columns("writes") else "''"

    def rows(self, sql: str, *given: Any) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._conn.execute(sql, given)
        except sqlite3.Error as error:
            if given and is_damage(error):  # of one thread: the others may be whole
                raise CorruptCheckpointError(
                    f"{self._at} is damaged where this thread lies: {error}. `sqlite3 FILE "
                    ".recover` saves what can be read."
                ) from error
            raise self._unreadable(error) from error

    def _unreadable(self, error: sqlite3.Error) -> StorageUnavailableError:
        return StorageUnavailableError(f"{self._at} cannot be read: {error}.")

    def _columns(self, table: str) -> set[str]:
        return {row[1] for row in self.rows(f"PRAGMA table_info({table})")}

    def close(self) -> None:
        self._conn.close()

    def tasks(self, thread: str) -> Iterable[PeerTask]:
        return [PeerTask(*row) for row in self.rows(_TASKS.format(path=self._path), thread)]

    def checkpoints(self, thread: str, ns: str) -> Iterator[PeerCheckpoint]:
        for id, parent, tag, data, metadata in self.rows(_ROWS, thread, ns):
            with told(thread, id):
                tree = read_checkpoint(tag, data or b"")
                found = checkpoint_of(id, parent or None, tree, json.loads(metadata or "{}"))
            yield found

    def writes(self, thread: str, ns: str, checkpoint: str) -> list[PeerWrite]:
        sql = _WRITES.format(path=self._path)
        return [PeerWrite(*row) for row in self.rows(sql, thread, ns, checkpoint)]

    def size(self, thread: str) -> Size:
        total = Size(0, 0)
        for table in ("checkpoints", "writes"):
            columns = sorted(self._columns(table))
            lengths = " + ".join(f"coalesce(length(CAST({c} AS BLOB)), 0)" for c in columns)
            sql = f"SELECT count(*), coalesce(sum({lengths}), 0) FROM {table} WHERE thread_id = ?"
            for row in self.rows(sql, thread):
                total += Size(*row)
        return total


__all__ = ["SqliteSource"]
