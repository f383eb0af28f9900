"""From `--db` on the command line to a saver."""

from __future__ import annotations

from pathlib import Path

from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError


def open_to_read(database: str) -> SqliteSaver:
    """A saver of an existing SQLite file that cannot write to it.

    Raises:
        ConfigError: there is no such file.
    """
    path = Path(database)
    if not path.is_file():
        raise ConfigError(
            f"There is no database {str(path)!r}. --db takes the file of SqliteSaver."
        )
    return SqliteSaver(f"{path.resolve().as_uri()}?mode=ro")
