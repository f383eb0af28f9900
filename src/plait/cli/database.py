"""From `--db` on the command line to a saver: a SQLite file, or the URL of a Postgres database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError

POSTGRES = ("postgres://", "postgresql://")
_READ_ONLY = "-c default_transaction_read_only=on"


def open_to_read(database: str) -> Any:
    """A saver of an existing database that cannot write to it.

    Raises:
        ConfigError: there is no such file.
    """
    if database.startswith(POSTGRES):
        from psycopg.conninfo import conninfo_to_dict, make_conninfo  # an extra

        options = f"{conninfo_to_dict(database).get('options') or ''} {_READ_ONLY}"
        return _postgres(make_conninfo(database, options=options.strip()))
    return SqliteSaver(f"{_existing(database).as_uri()}?mode=ro")


def open_to_write(database: str) -> Any:
    """A saver of an existing database.

    Raises:
        ConfigError: there is no such file.
    """
    if database.startswith(POSTGRES):
        return _postgres(database)
    return SqliteSaver(f"{_existing(database).as_uri()}?mode=rw")


def _postgres(conninfo: str) -> Any:
    from plait.checkpoint.postgres import PostgresSaver  # needs psycopg, an extra

    return PostgresSaver.from_conn_string(conninfo)


def _existing(database: str) -> Path:
    path = Path(database)
    if not path.is_file():
        raise ConfigError(
            f"There is no database {str(path)!r}. --db takes the file of SqliteSaver, or the URL "
            "of a Postgres database."
        )
    return path.resolve()
