"""LangGraph's Postgres databases (langgraph-checkpoint-postgres), in transactions that only read.

Nothing is set or prepared in the session: a transaction pooler lends it to others afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from plait.errors import ConfigError, StorageUnavailableError
from plait.importing.rows import (
    PeerCheckpoint,
    PeerTask,
    PeerWrite,
    Size,
    Source,
    checkpoint_of,
    told,
)
from plait.importing.values import Stored, Tree
from plait.postgres import psycopg

_PAGE = 64
_EMPTY = "empty"
_TABLES = {"checkpoints", "checkpoint_blobs", "checkpoint_writes"}

_FIND_COLUMNS = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = ANY (current_schemas(false)) AND table_name = ANY (%s)
"""
_THREADS = "SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id"
_PARENTS = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints
WHERE thread_id = %s ORDER BY checkpoint_ns COLLATE "C", checkpoint_id COLLATE "C"
"""
_TASKS = """
SELECT DISTINCT checkpoint_ns, checkpoint_id, task_id, {path} FROM checkpoint_writes
WHERE thread_id = %s
"""
_CHECKPOINTS = """
SELECT checkpoint_id, parent_checkpoint_id, checkpoint::text, metadata::text FROM checkpoints
WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id COLLATE "C" > %s
ORDER BY checkpoint_id COLLATE "C" LIMIT %s
"""
_VERSIONS = """
SELECT channel, version FROM checkpoint_blobs
WHERE thread_id = %s AND checkpoint_ns = %s AND type <> %s
"""
_VALUES = """
SELECT channel, type, blob FROM checkpoint_blobs WHERE thread_id = %s AND checkpoint_ns = %s
AND (channel, version) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
"""
_WRITES = """
SELECT task_id, {path}, channel, type, blob FROM checkpoint_writes
WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s
ORDER BY {path} COLLATE "C", task_id, idx
"""
_SIZES = (
    "SELECT count(*), coalesce(sum(pg_column_size(t.*)), 0) FROM checkpoints t "
    "WHERE thread_id = %s",
    "SELECT count(*), coalesce(sum(pg_column_size(t.*)), 0) FROM checkpoint_blobs t "
    "WHERE thread_id = %s",
    "SELECT count(*), coalesce(sum(pg_column_size(t.*)), 0) FROM checkpoint_writes t "
    "WHERE thread_id = %s",
)


class PostgresSource(Source):
    """A database of LangGraph's `PostgresSaver`.

    Args:
        url: The connection string.

    Raises:
        ConfigError: It has not the tables of LangGraph.
        StorageUnavailableError: The server cannot be reached.
    """

    SQL_THREADS = _THREADS
    SQL_PARENTS = _PARENTS

    def __init__(self, url: str) -> None:
        with _reached():
            self._conn = psycopg.connect(
                url, autocommit=True, prepare_threshold=None, client_encoding="UTF8"
            )
        try:
            self._conn.read_only = True
            columns = {(row[0], row[1]) for row in self.rows(_FIND_COLUMNS, sorted(_TABLES))}
            _check_columns(columns)
        except BaseException:
            self._conn.close()
            raise
        # Savers of before 2025 did not store it.
        self._path = "task_path" if ("checkpoint_writes", "task_path") in columns else "''"

    def rows(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        with _reached(), self._conn.transaction():
            cursor = self._conn.execute(cast("Any", sql), given)
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self._conn.close()

    def tasks(self, thread: str) -> Iterable[PeerTask]:
        return [PeerTask(*row) for row in self.rows(_TASKS.format(path=self._path), thread)]

    def checkpoints(self, thread: str, ns: str) -> Iterator[PeerCheckpoint]:
        blobs = {(row[0], row[1]) for row in self.rows(_VERSIONS, thread, ns, _EMPTY)}
        last, rows = "", [()]
        while rows:
            rows = self.rows(_CHECKPOINTS, thread, ns, last, _PAGE)
            for id, parent, text, metadata in rows:
                last = id
                with told(thread, id):
                    tree, facts = json.loads(text), json.loads(metadata or "{}")
                    found = self._checkpoint(thread, ns, id, parent, tree, facts, blobs)
                yield found

    def _checkpoint(
        self,
        thread: str,
        ns: str,
        id: str,
        parent: str | None,
        tree: Any,
        metadata: Any,
        blobs: set[tuple[str, str]],
    ) -> PeerCheckpoint:
        """A checkpoint whose small values lie in it and whose others lie in `checkpoint_blobs`."""
        whole = checkpoint_of(id, parent or None, tree, metadata)
        apart = {
            name: version for name, version in whole.versions.items() if (name, version) in blobs
        }

        def load(names: Iterable[str]) -> dict[str, Tree]:
            wanted = set(names)
            here = whole.load(wanted & whole.held)
            return here | self._values(thread, ns, {n: apart[n] for n in wanted & apart.keys()})

        return whole._replace(held=whole.held | apart.keys(), load=load)

    def _values(self, thread: str, ns: str, versions: Mapping[str, str]) -> dict[str, Tree]:
        if not versions:
            return {}
        rows = self.rows(_VALUES, thread, ns, list(versions), list(versions.values()))
        return {name: Stored(tag, blob or b"") for name, tag, blob in rows}

    def writes(self, thread: str, ns: str, checkpoint: str) -> list[PeerWrite]:
        sql = _WRITES.format(path=self._path)
        return [
            PeerWrite(task, path, channel, tag or "null", blob or b"")
            for task, path, channel, tag, blob in self.rows(sql, thread, ns, checkpoint)
        ]

    def size(self, thread: str) -> Size:
        total = Size(0, 0)
        for sql in _SIZES:
            total += Size(*self.rows(sql, thread)[0])
        return total


def _check_columns(columns: set[tuple[str, str]]) -> None:
    """Refuse a database that is not of the form that is read here."""
    missing = _TABLES - {table for table, _ in columns}
    if missing:
        raise ConfigError(
            f"This database is none of LangGraph's PostgresSaver: it lacks the tables "
            f"{sorted(missing)}. Give the URL that the old program's saver was opened with."
        )
    if ("checkpoints", "checkpoint_id") not in columns:
        raise ConfigError(
            "This is a database of LangGraph's ShallowPostgresSaver, which cannot be imported. "
            "Copy its threads in the old program: to a PostgresSaver on another database, by "
            "update_state(config, values, as_node=...) for each."
        )


@contextmanager
def _reached() -> Generator[None]:
    """Errors of the server as plait's."""
    try:
        yield
    except psycopg.Error as error:
        raise StorageUnavailableError(
            f"LangGraph's database cannot be read: {str(error).strip() or type(error).__name__}. "
            "Check the URL and the server, and import again: what is done is kept."
        ) from error


__all__ = ["PostgresSource"]
