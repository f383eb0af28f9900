"""SQL from its files: the named statements, and the numbered migrations of the schema."""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from importlib.resources import files

from plait.errors import StorageUnavailableError

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_NUMBER = re.compile(r"(\d{4})_\w+\.sql$")


@cache
def statements() -> dict[str, str]:
    """The statements of queries.sql by name, read on first use."""
    text = files(__name__.rpartition(".")[0]).joinpath("queries.sql").read_text("utf-8")
    parts = _NAME.split(text)[1:]
    return {
        name: " ".join(sql.split()).rstrip(";")
        for name, sql in zip(parts[::2], parts[1::2], strict=True)
    }


@cache
def migrations() -> tuple[tuple[int, tuple[str, ...]], ...]:
    """(number, statements) of each migration, ascending."""
    found: list[tuple[int, tuple[str, ...]]] = []
    for entry in files(__name__.rpartition(".")[0]).joinpath("migrations").iterdir():
        match = _NUMBER.fullmatch(entry.name)
        if match:
            lines = entry.read_text("utf-8").splitlines()
            text = "\n".join(line for line in lines if not line.lstrip().startswith("--"))
            parts = tuple(part.strip() for part in text.split(";") if part.strip())
            found.append((int(match[1]), parts))
    return tuple(sorted(found))


def migrate(conn: sqlite3.Connection) -> None:
    """Bring the schema up to date: in one transaction, which others wait for.

    The number of the last migration is the `user_version` of the file, so that an up-to-date file
    costs one read.

    Raises:
        StorageUnavailableError: The file was written by a newer plait, or is another program's.
    """
    latest = migrations()[-1][0]
    if _version(conn) == latest:
        return
    conn.execute("BEGIN IMMEDIATE")
    try:
        current = _version(conn)  # another process may have been first
        if current > latest:
            raise StorageUnavailableError(
                f"The database has schema version {current}; this plait knows up to {latest}. It "
                "was written by a newer plait: upgrade this one."
            )
        for number, steps in migrations():
            if number > current:
                for step in steps:
                    conn.execute(step)
        conn.execute(f"PRAGMA user_version = {latest:d}")
        conn.execute("COMMIT")
    except BaseException:
        conn.execute("ROLLBACK")
        raise


def _version(conn: sqlite3.Connection) -> int:
    return conn.execute("PRAGMA user_version").fetchone()[0]
