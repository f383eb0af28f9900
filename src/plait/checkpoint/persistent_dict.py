"""`PersistentDict`: a dict that can be written to a file and read back."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import IO, Any, Literal

from plait.checkpoint.serde import Codec
from plait.common.closing import ClosedAtEnd
from plait.errors import NotSupportedError

_PART = ".part"


class PersistentDict(defaultdict[Any, Any], ClosedAtEnd):
    """A `defaultdict` kept in memory, and in a file when `sync()` or `close()` is called.

    The file holds plait's own encoding, never pickles: reading it runs and imports nothing. It is
    replaced as a whole, so that a crash leaves the old file or the new one.

    Args:
        args: those of `defaultdict`.
        filename: the file; `load()` reads it.
        flag: "c" (the default), "r" to never write, or "n" to never read.
        mode: the file's permissions, such as 0o600.
        format: only plait's own ("pickle" is the peer's name of its default).

    Raises:
        NotSupportedError: another format.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with PersistentDict(list, filename=folder + "/notes") as notes:
    ...         notes["a"].append(1)
    ...     again = PersistentDict(list, filename=folder + "/notes")
    ...     again.load()
    ...     dict(again)
    {'a': [1]}
    """

    flag: Literal["c", "r", "n", "w"] = "c"
    mode: int | None = None
    format: str = "pickle"

    def __init__(self, *args: Any, filename: str, **kwds: Any) -> None:
        self.flag = kwds.pop("flag", "c")
        self.mode = kwds.pop("mode", None)
        self.format = kwds.pop("format", "pickle")
        self.filename = filename
        if self.format != "pickle":
            raise NotSupportedError(
                f"PersistentDict(format={self.format!r}) is not supported: files hold plait's own "
                "encoding. Leave format= out."
            )
        super().__init__(*args, **kwds)

    def sync(self) -> None:
        """Write the dict to its file, if the flag lets it."""
        if self.flag == "r":
            return
        part = Path(self.filename + _PART)
        with part.open("wb") as file:
            self.dump(file)
            file.flush()
            os.fsync(file.fileno())
        if self.mode is not None:
            part.chmod(self.mode)
        part.replace(self.filename)

    def close(self) -> None:
        """`sync()`; the dict keeps what it has."""
        self.sync()

    def load(self) -> None:
        """Add what the file holds; with the flag "n", nothing.

        Raises:
            FileNotFoundError: there is none.
            CorruptCheckpointError: it was not written by a PersistentDict of plait.
        """
        if self.flag == "n":
            return
        self.update(Codec().loads(Path(self.filename).read_bytes()))

    def dump(self, fileobj: IO[bytes]) -> None:
        """Write the dict to an open file."""
        fileobj.write(Codec().dumps(dict(self)))


__all__ = ["PersistentDict"]
