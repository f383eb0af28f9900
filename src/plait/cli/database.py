"""From `--db` on the command line to a saver: a SQLite file, or the URL of a Postgres database."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError

POSTGRES = ("postgres://", "postgresql://")


@contextmanager
def open_to_read(database: str) -> Generator[Any]:
    """A saver of an existing database that cannot write to it.

    Raises:
        ConfigError: there is no such file, or a saver has never been at the server's database.
        StorageUnavailableError: the server cannot be reached.
    """
    if database.startswith(POSTGRES):
        from plait.checkpoint.postgres import PostgresSaver  # needs psycopg, an extra

        with _connected(database) as conn:
            conn.read_only = True  # by transaction: a pooler refuses options of a connection
            _check_tables(conn)
            yield PostgresSaver(conn)
    else:
        with SqliteSaver(f"{_existing(database).as_uri()}?mode=ro") as saver:
            yield saver


def _connected(url: str) -> Any:
    from plait.postgres import psycopg
    from plait.postgres.failures import explain

    try:
        return psycopg.connect(url, client_encoding="UTF8")
    except psycopg.Error as error:
        raise explain(error, "The Postgres database of --db") from error


def _check_tables(conn: Any) -> None:
    """Who only reads cannot make the tables."""
    table, path = conn.execute(
        "SELECT to_regclass('plait_lanes'), current_setting('search_path')"
    ).fetchone()
    conn.rollback()
    if table is None:
        raise ConfigError(
            "The Postgres database of --db has no tables of plait in its search_path "
            f"({path}): no thread was ever stored there. Check the URL; a saver's first run, or "
            "its `setup()`, makes them."
        )


def open_to_write(database: str) -> Any:
    """A saver of an existing database.

    Raises:
        ConfigError: there is no such file.
    """
    if database.startswith(POSTGRES):
        from plait.checkpoint.postgres import PostgresSaver

        return PostgresSaver.from_conn_string(database)
    return SqliteSaver(f"{_existing(database).as_uri()}?mode=rw")


def _existing(database: str) -> Path:
    path = Path(database)
    if not path.is_file():
        raise ConfigError(
            f"There is no database {str(path)!r}. --db takes the file of SqliteSaver, or the URL "
            "of a Postgres database."
        )
    return path.resolve()
