"""From `--db` on the command line to a saver: a SQLite file, or the URL of a Postgres database.

How the threads are encrypted says the graph of the command, by the serializer of its saver, or the
environment, by PLAIT_AES_KEY.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import click

from plait.checkpoint.serde.encrypted import ENVIRONMENT, EncryptedSerializer
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError, StorageUnavailableError
from plait.sqlite.failures import is_busy
from plait.sqlite.locks import by_whom

if TYPE_CHECKING:
    from plait.pregel.main import Pregel

POSTGRES = ("postgres://", "postgresql://")
PATIENCE = 10.0
"""Seconds that a command waits for a file that another program holds locked."""


def database_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options --db, --graph and --app-dir, for a command that takes `database` and `graph`."""

    @click.option("--db", "database", required=True, metavar="DB", help="The database.")
    @click.option("--graph", "named", metavar="MODULE:GRAPH",
                  help="Whose types and encryption the threads have.")  # fmt: skip
    @click.option("--app-dir", default=".", show_default=True, help="Where MODULE is looked for.")
    @wraps(function)
    def command(named: str | None, app_dir: str, **arguments: Any) -> None:
        graph = None
        if named is not None:
            from plait.cli.target import load_graph  # graphs take longer to load than all else

            graph = load_graph(named, app_dir)
        function(graph=graph, **arguments)

    return command


@contextmanager
def open_to_read(database: str, graph: Pregel | None = None) -> Generator[Any]:
    """A saver of an existing database that cannot write to it.

    Args:
        database: The file, or the URL.
        graph: Whose threads these are, if that is known.

    Raises:
        ConfigError: there is no such file, or a saver has never been at the database.
        StorageUnavailableError: the server cannot be reached.
    """
    if database.startswith(POSTGRES):
        from plait.checkpoint.postgres import PostgresSaver  # needs psycopg, an extra

        with _connected(database) as conn:
            conn.read_only = True  # by transaction: a pooler refuses options of a connection
            _check_tables(conn)
            yield PostgresSaver(conn, serde=serde_of(graph))
    else:
        uri = f"{_held(database).as_uri()}?mode=ro"
        with SqliteSaver(uri, serde=serde_of(graph), timeout=PATIENCE) as saver:
            yield saver


def serde_of(graph: Pregel | None) -> Any:
    """The serializer that a graph's threads were written with, as far as anybody says.

    Raises:
        ConfigError: The key in the environment is none.
    """
    own = getattr(getattr(graph, "checkpointer", None), "serde", None)
    if ENVIRONMENT in os.environ and (own is None or isinstance(own, JsonPlusSerializer)):
        return EncryptedSerializer.from_env(own)
    return own


def _connected(url: str) -> Any:
    from plait.postgres import psycopg
    from plait.postgres.failures import explain
    from plait.postgres.origin import Origin

    try:
        return psycopg.connect(Origin(url).conninfo(), client_encoding="UTF8")
    except psycopg.Error as error:
        raise explain(error, "The Postgres database of --db") from error


def _check_tables(conn: Any, *, new: bool = False) -> None:
    """A slip of the pen must not put tables beside somebody else's, and who reads makes none.

    Args:
        conn: To the database.
        new: An empty schema, or one of plait's that no saver was ever at, will do, too.
    """
    lanes, versions, others, path = conn.execute(
        "SELECT to_regclass('plait_lanes'), to_regclass('plait_schema_versions'), EXISTS ("
        "SELECT FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) "
        "AND relkind IN ('r', 'p', 'v', 'm', 'f')), current_setting('search_path')"
    ).fetchone()
    conn.rollback()
    if lanes is None and not (new and (versions is not None or not others)):
        raise ConfigError(
            "The Postgres database of --db has no tables of plait in its search_path "
            f"({path}): no thread was ever stored there. Check the URL; a saver's first run, or "
            "its `setup()`, makes them."
        )


def open_to_write(database: str, graph: Pregel | None = None, *, new: bool = False) -> Any:
    """A saver of an existing database.

    Args:
        database: The file, or the URL.
        graph: Whose threads these are, if that is known.
        new: Make the tables where there are none: a program is to run on it. Not in a file or
            schema that holds something else.

    Raises:
        ConfigError: there is no such file, or a saver has never been at the database.
        StorageUnavailableError: the server cannot be reached.
    """
    if database.startswith(POSTGRES):
        from plait.checkpoint.postgres import PostgresSaver

        with _connected(database) as conn:
            _check_tables(conn, new=new)
        return PostgresSaver.from_conn_string(database, serde=serde_of(graph))
    path = _held(database, new=new)
    _free(path, "rw", "BEGIN IMMEDIATE")  # ended when the connection is closed
    uri = f"{path.as_uri()}?mode=rw"
    serde = serde_of(graph)
    return SqliteSaver(uri, serde=serde) if new else SqliteSaver(uri, serde=serde, timeout=PATIENCE)


def _held(database: str, *, new: bool = False) -> Path:
    """The file of a saver: a slip of the pen must not put tables into somebody else's.

    Args:
        database: Its path.
        new: An empty one, or one of plait's that no saver was ever at, will do, too.
    """
    path = _existing(database)
    listed = _free(path, "ro", "SELECT name FROM sqlite_master")
    names = {"lanes"} if listed is None else {name for (name,) in listed}
    if "lanes" not in names and not (new and (not names or "schema_versions" in names)):
        raise ConfigError(
            f"The database {str(path)!r} has no tables of plait: no thread was ever stored there. "
            "Check the path; a saver's first run, or its `setup()`, makes them. `plait "
            "import-langgraph` brings threads of LangGraph over."
        )
    return path


def _free(path: Path, mode: str, sql: str) -> list[Any] | None:
    """What a statement finds once no other program holds the file locked; None: nothing can be
    found out, and the saver says why.

    Raises:
        StorageUnavailableError: it was locked for too long.
    """
    deadline, told = monotonic() + PATIENCE, False
    while True:
        try:
            uri = f"{path.as_uri()}?mode={mode}"
            with closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as conn:
                return conn.execute(sql).fetchall()
        except sqlite3.Error as error:
            if not is_busy(error):
                return None
            if monotonic() > deadline:
                raise StorageUnavailableError(
                    f"{str(path)!r} was locked for {PATIENCE:.0f} seconds by "
                    f"{by_whom(str(path))}. Let its transaction end, or stop it, and try again."
                ) from error
            if not told:
                click.echo(f"{str(path)!r} is locked by {by_whom(str(path))}: waiting up to "
                           f"{PATIENCE:.0f} seconds for it.", err=True)  # fmt: skip
                told = True
            sleep(0.05)


def _existing(database: str) -> Path:
    if "://" in database:  # not shown: there may be a password in it
        raise ConfigError(
            f"--db takes the file of a SqliteSaver, or a URL that begins with {POSTGRES[1]}, not "
            f"with {database.partition('://')[0]}://."
        )
    if not database:
        raise ConfigError("--db is empty. It takes the file of SqliteSaver, or a Postgres URL.")
    path = Path(database)
    if not path.is_file():
        told = "{!r} is a directory" if path.is_dir() else "There is no database {!r}"
        raise ConfigError(
            f"{told.format(str(path))}. --db takes the file of SqliteSaver, or the URL of a "
            "Postgres database."
        )
    return path.resolve()
