"""The tables of a component in a Postgres database, brought up to date by numbered migrations."""

from __future__ import annotations

from typing import TypeVar

from plait.common.sql import Statements, migrations
from plait.errors import StorageUnavailableError
from plait.postgres.steps import Steps

T = TypeVar("T")

_SQL = Statements("plait.postgres", "versions.sql")
_LOCK = 0x706C616974  # "plait": the advisory lock of set-ups, held until their transaction ends


class Schema:
    """The tables of one component, made by the numbered files `migrations/NNNN_name.sql`.

    Args:
        package: whose migrations.
        component: the name under which the database keeps the number of the last migration.
    """

    def __init__(self, package: str, component: str) -> None:
        self._package = package
        self._component = component

    @property
    def latest(self) -> int:
        """The number of the last migration."""
        return migrations(self._package)[-1][0]

    def version(self) -> Steps[int]:
        """The number of the last migration that the database has seen; 0: none.

        Raises:
            StorageUnavailableError: It was written by a newer plait.
        """
        if not (yield _SQL.has_versions, ())[0][0]:
            return 0
        return (yield from self._read())

    def _read(self) -> Steps[int]:
        rows = yield _SQL.read_version, (self._component,)
        current = rows[0][0] if rows else 0
        if current > self.latest:
            raise StorageUnavailableError(
                f"The database has version {current} of the schema of {self._package}; this plait "
                f"knows up to {self.latest}. It was written by a newer plait: upgrade this one."
            )
        return current

    def migrate(self) -> Steps[None]:
        """Bring the tables up to date, inside a transaction; other set-ups wait for it."""
        yield _SQL.see_others, ()  # what they did while this one waits, whatever the default is
        yield _SQL.alone, (_LOCK,)
        yield _SQL.make_versions, ()
        current = yield from self._read()  # another process may have been first
        for number, text in migrations(self._package):
            if number > current:
                yield text, ()
        yield _SQL.write_version, (self._component, self.latest)


def seeing_others(steps: Steps[T]) -> Steps[T]:
    """The same steps, as a transaction that sees what others commit meanwhile, and that the server
    never rolls back because of what they read or wrote, whatever its default is."""
    yield _SQL.see_others, ()
    return (yield from steps)
