"""SQL from files: named statements with constant text, and numbered migrations; names that no
database holds."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from plait.errors import InvalidValueError

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


@cache
def migrations(package: str) -> tuple[tuple[int, str], ...]:
    """(number, SQL without comment lines) of each file `migrations/NNNN_name.sql`, ascending."""
    found: list[tuple[int, str]] = []
    for entry in files(package).joinpath("migrations").iterdir():
        match = _NUMBER.fullmatch(entry.name)
        if match:
            lines = entry.read_text("utf-8").splitlines()
            text = "\n".join(line for line in lines if not line.lstrip().startswith("--"))
            found.append((int(match[1]), text))
    return tuple(sorted(found))


def no_text(error: UnicodeEncodeError, where: str) -> InvalidValueError:
    """The error of a name that no database can hold.

    Args:
        error: What Python said of it.
        where: Which database.
    """
    return InvalidValueError(
        f"{where} cannot hold {error.object[:100]!r}: it has half of a surrogate pair, which is no "
        "text in UTF-8. Give threads, namespaces and keys names that are."
    )


__all__ = ["Statements", "migrations", "no_text"]
