"""The tables of a component in a SQLite file, brought up to date by numbered migrations."""

from __future__ import annotations

import sqlite3
from functools import cached_property

from plait.common.sql import Statements, migrations
from plait.errors import StorageUnavailableError
from plait.sqlite.transactions import in_transaction

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
        return tuple(
            (number, tuple(part.strip() for part in text.split(";") if part.strip()))
            for number, text in migrations(self._package)
        )

    def migrate(self, conn: sqlite3.Connection) -> None:
        """Bring the tables up to date: in one transaction, which others wait for.

        The number of the last migration is in the file, so that an up-to-date file costs a read.

        Raises:
            StorageUnavailableError: The file was written by a newer plait.
        """
        if self._version(conn) == self.migrations[-1][0]:
            return
        in_transaction(conn, self._bring_up)

    def _bring_up(self, conn: sqlite3.Connection) -> None:
        latest = self.migrations[-1][0]
        current = self._version(conn)  # another process may have been first
        if current > latest:
            raise StorageUnavailableError(
                f"The database has version {current} of the schema of {self._package}; this "
                f"plait knows up to {latest}. It was written by a newer plait: upgrade this one."
            )
        for number, steps in self.migrations:
            if number > current:
                for step in steps:
                    conn.execute(step)
        self._set_version(conn, latest)

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
