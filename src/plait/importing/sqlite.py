"""LangGraph's SQLite databases (langgraph-checkpoint-sqlite), opened read-only."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from plait.checkpoint.log.records import is_dict
from plait.errors import ConfigError, CorruptCheckpointError, StorageUnavailableError
from plait.importing.rows import PeerCheckpoint, PeerTask, PeerWrite, Size
from plait.importing.values import Tree, damaged, read_tree

_CHECKPOINTS = {"thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "type",
                "checkpoint", "metadata"}  # fmt: skip


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
        try:
            self._conn = sqlite3.connect(f"{found.resolve().as_uri()}?mode=ro", uri=True)
            columns = self._columns("checkpoints")
            self._path = "task_path" if "task_path" in self._columns("writes") else "''"
        except sqlite3.DatabaseError as error:
            raise StorageUnavailableError(f"{found} cannot be read: {error}.") from error
        if not columns >= _CHECKPOINTS:
            raise ConfigError(
                f"{str(found)!r} is no database of LangGraph's SqliteSaver: its table of "
                f"checkpoints lacks {sorted(_CHECKPOINTS - columns)}. Give the file that the old "
                "program's saver was opened with."
            )

    def _columns(self, table: str) -> set[str]:
        return {row[1] for row in self._conn.execute(f"PRAGMA table_info({table})")}

    def close(self) -> None:
        self._conn.close()

    def threads(self) -> list[str]:
        rows = self._conn.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")
        return [row[0] for row in rows]

    def parents(self, thread: str) -> dict[str, dict[str, str | None]]:
        found: dict[str, dict[str, str | None]] = {}
        rows = self._conn.execute(
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints "
            "WHERE thread_id = ? ORDER BY checkpoint_ns, checkpoint_id",
            (thread,),
        )
        for ns, id, parent in rows:
            found.setdefault(ns, {})[id] = parent or None
        return found

    def tasks(self, thread: str) -> Iterable[PeerTask]:
        rows = self._conn.execute(
            f"SELECT DISTINCT checkpoint_ns, checkpoint_id, task_id, {self._path} FROM writes "
            "WHERE thread_id = ?",
            (thread,),
        )
        return [PeerTask(*row) for row in rows]

    def checkpoints(self, thread: str, ns: str) -> Iterator[PeerCheckpoint]:
        rows = self._conn.execute(
            "SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata "
            "FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY checkpoint_id",
            (thread, ns),
        )
        for id, parent, tag, data, metadata in rows:
            try:
                tree = read_tree(tag or "", data)
                yield checkpoint_of(id, parent or None, tree, json.loads(metadata or "{}"))
            except (CorruptCheckpointError, ValueError, TypeError) as error:
                raise CorruptCheckpointError(
                    f"Thread {thread!r}: checkpoint {id} cannot be read ({error})."
                ) from error

    def writes(self, thread: str, ns: str, checkpoint: str) -> list[PeerWrite]:
        rows = self._conn.execute(
            f"SELECT task_id, {self._path} AS path, channel, type, value FROM writes WHERE "
            "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY path, task_id, idx",
            (thread, ns, checkpoint),
        )
        return [
            PeerWrite(task, path, channel, tag or "null", value or b"")
            for task, path, channel, tag, value in rows
        ]

    def size(self, thread: str) -> Size:
        total = Size(0, 0)
        for table in ("checkpoints", "writes"):
            lengths = " + ".join(
                f"coalesce(length(cast({name} AS blob)), 0)"
                for name in sorted(self._columns(table))
            )
            row = self._conn.execute(
                f"SELECT count(*), coalesce(sum({lengths}), 0) FROM {table} WHERE thread_id = ?",
                (thread,),
            ).fetchone()
            total += Size(*row)
        return total


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


__all__ = ["SqliteSource", "checkpoint_of"]
