"""LangGraph's SQLite databases (langgraph-checkpoint-sqlite), opened read-only."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plait.checkpoint.log.records import is_dict
from plait.errors import (
    ConfigError,
    CorruptCheckpointError,
    StorageError,
    StorageUnavailableError,
    UnregisteredTypeError,
)
from plait.importing.calls import damaged
from plait.importing.rows import PeerCheckpoint, PeerTask, PeerWrite, Size
from plait.importing.values import Tree, read_tree

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


class SqliteSource:
    """A file of LangGraph's `SqliteSaver`.

    Args:
        path: The file.

    Raises:
        ConfigError: There is no such file, or it is no database of LangGraph's.
        StorageUnavailableError: It cannot be opened.
    """

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

    def _rows(self, sql: str, *given: Any) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._conn.execute(sql, given)
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: sqlite3.Error) -> StorageUnavailableError:
        return StorageUnavailableError(f"{self._at} cannot be read: {error}.")

    def _columns(self, table: str) -> set[str]:
        return {row[1] for row in self._rows(f"PRAGMA table_info({table})")}

    def close(self) -> None:
        self._conn.close()

    def threads(self) -> list[str]:
        return [row[0] for row in self._rows(_THREADS)]

    def parents(self, thread: str) -> dict[str, dict[str, str | None]]:
        found: dict[str, dict[str, str | None]] = {}
        for ns, id, parent in self._rows(_PARENTS, thread):
            found.setdefault(ns, {})[id] = parent or None
        return found

    def tasks(self, thread: str) -> Iterable[PeerTask]:
        return [PeerTask(*row) for row in self._rows(_TASKS.format(path=self._path), thread)]

    def checkpoints(self, thread: str, ns: str) -> Iterator[PeerCheckpoint]:
        for id, parent, tag, data, metadata in self._rows(_ROWS, thread, ns):
            with told(thread, id):
                tree = read_tree(tag, data or b"")
                found = checkpoint_of(id, parent or None, tree, json.loads(metadata or "{}"))
            yield found

    def writes(self, thread: str, ns: str, checkpoint: str) -> list[PeerWrite]:
        sql = _WRITES.format(path=self._path)
        return [PeerWrite(*row) for row in self._rows(sql, thread, ns, checkpoint)]

    def size(self, thread: str) -> Size:
        total = Size(0, 0)
        for table in ("checkpoints", "writes"):
            columns = sorted(self._columns(table))
            lengths = " + ".join(f"coalesce(length(CAST({c} AS BLOB)), 0)" for c in columns)
            sql = f"SELECT count(*), coalesce(sum({lengths}), 0) FROM {table} WHERE thread_id = ?"
            for row in self._rows(sql, thread):
                total += Size(*row)
        return total


@contextmanager
def told(thread: str, id: str) -> Generator[None]:
    """Errors of a whole checkpoint say which one."""
    try:
        yield
    except (StorageError, ValueError, TypeError) as error:
        known = isinstance(error, UnregisteredTypeError)
        kind = UnregisteredTypeError if known else CorruptCheckpointError
        raise kind(f"Thread {thread!r}: checkpoint {id} cannot be read: {error}.") from error


def checkpoint_of(id: str, parent: str | None, tree: Tree, metadata: Any) -> PeerCheckpoint:
    """A checkpoint from the tree that LangGraph stores; its values lie in it."""
    if not (is_dict(tree) and is_dict(metadata) and "ts" in tree):
        raise damaged("it has not the form of a checkpoint")
    held, versions = tree.get("channel_values"), tree.get("channel_versions")
    seen = tree.get("versions_seen", {})
    if not (is_dict(held) and is_dict(versions) and is_dict(seen)):
        raise damaged("it has not the form of a checkpoint")
    if not all(type(key) is str for key in (*held, *versions, *metadata)):
        raise damaged("a channel has no name")
    if not all(is_dict(each) for each in seen.values()):
        raise damaged("it has not the form of a checkpoint")

    def load(names: Iterable[str]) -> dict[str, Tree]:
        return {name: held[name] for name in names}

    return PeerCheckpoint(
        id,
        parent,
        int(tree.get("v", 0)),
        str(tree["ts"]),
        metadata,
        frozenset(held),
        versions,
        seen,
        load,
    )


__all__ = ["SqliteSource", "checkpoint_of", "told"]
