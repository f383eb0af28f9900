"""SQL from its files: the named statements, and the numbered migrations of a schema."""

from __future__ import annotations

import re
import sqlite3
from functools import cache, cached_property
from importlib.resources import files

from plait.errors import StorageUnavailableError

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_NUMBER = re.compile(r"(\d{4})_\w+\.sql$")


class Statements:
    """The statements of a SQL file of a package, as attributes; the file is read on first use.

    A statement begins with the line `-- name: <name>`. Its text is constant: values are bound.

    >>> Statements("plait.sqlite", "versions.sql").read_version
    'SELECT version FROM schema_versions WHERE component = ?1'
    """

    def __init__(self, package: str, file: str = "queries.sql") -> None:
        self._package = package
        self._file = file

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        texts = self.all()
        vars(self).update(texts)
        return texts[name]

    def all(self) -> dict[str, str]:
        """Every statement by its name."""
        text = files(self._package).joinpath(self._file).read_text("utf-8")
        parts = _NAME.split(text)[1:]
        return {
            name: " ".join(sql.split()).rstrip(";")
            for name, sql in zip(parts[::2], parts[1::2], strict=True)
        }


_SQL = Statements("plait.sqlite", "versions.sql")


class Schema:
    """The tables of one component, made by the numbered files `migrations/NNNN_name.sql`.

    Args:
        package: whose migrations.
        component: the name under which a file keeps the number of the last migration. None: the
            file's `user_version`, which belongs to the log of checkpoints.
    """

    def __init__(self, package: str, component: str | None = None) -> None:
        self._package = package
        self._component = component

    @cached_property
    def migrations(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """(number, statements) of each migration, ascending."""
        return _migrations(self._package)

    def migrate(self, conn: sqlite3.Connection) -> None:
        """Bring the tables up to date: in one transaction, which others wait for.

        The number of the last migration is in the file, so that an up-to-date file costs a read.

        Raises:
            StorageUnavailableError: The file was written by a newer plait.
        """
        latest = self.migrations[-1][0]
        if self._version(conn) == latest:
            return
        conn.execute("BEGIN IMMEDIATE")
        try:
            current = self._version(conn)  # another process may have been first
            if current > latest:
                raise StorageUnavailableError(
                    f"The database has version {current} of the schema of {self._package}; this "
                    f"plait knows up to {latest}. It was written by a newer plait: upgrade this "
                    "one."
                )
            for number, steps in self.migrations:
                if number > current:
                    for step in steps:
                        conn.execute(step)
            self._set_version(conn, latest)
            conn.execute("COMMIT")
        except BaseException:
            conn.execute("ROLLBACK")
            raise

    def _version(self, conn: sqlite3.Connection) -> int:
        cursor = conn.cursor()
        cursor.row_factory = None
        if self._component is None:
            return cursor.execute("PRAGMA user_version").fetchone()[0]
        if cursor.execute(_SQL.has_versions).fetchone() is None:
            return 0
        row = cursor.execute(_SQL.read_version, (self._component,)).fetchone()
        return row[0] if row is not None else 0

    def _set_version(self, conn: sqlite3.Connection, number: int) -> None:
        if self._component is None:
            conn.execute(f"PRAGMA user_version = {number:d}")
        else:
            conn.execute(_SQL.make_versions)
            conn.execute(_SQL.write_version, (self._component, number))


@cache
def _migrations(package: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    found: list[tuple[int, tuple[str, ...]]] = []
    for entry in files(package).joinpath("migrations").iterdir():
        match = _NUMBER.fullmatch(entry.name)
        if match:
            lines = entry.read_text("utf-8").splitlines()
            text = "\n".join(line for line in lines if not line.lstrip().startswith("--"))
            parts = tuple(part.strip() for part in text.split(";") if part.strip())
            found.append((int(match[1]), parts))
    return tuple(sorted(found))
