"""`Blob`: bytes or text, held or in a file, with a type and metadata."""

import mimetypes
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO, Self

from plait.documents.base import BaseMedia
from plait.errors import InvalidInputError


@dataclass(slots=True, kw_only=True, repr=False)
class Blob(BaseMedia):
    """Raw data, held here or in a file.

    Args:
        data: The data; None where it is in the file at `path`.
        mimetype: What it is, such as "text/plain".
        encoding: How its bytes are text.
        path: Where it is, or where it came from.

    Raises:
        InvalidInputError: There is neither data nor path.

    >>> Blob.from_data("hi", metadata={"source": "mail"}).as_bytes()
    b'hi'
    """

    __plait_fields__ = ("id", "metadata", "data", "mimetype", "encoding", "path")

    data: bytes | str | None = None
    mimetype: str | None = None
    encoding: str = "utf-8"
    path: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.data is None and self.path is None:
            raise InvalidInputError("A Blob needs data or a path.")

    def __repr__(self) -> str:
        source = f" {self.source}" if self.source else ""
        return f"Blob {id(self)}{source}"

    @property
    def source(self) -> str | None:
        """Where it came from: the metadata's `source`, else the path."""
        if "source" in self.metadata:
            return str(self.metadata["source"])
        return None if self.path is None else fspath(self.path)

    def as_string(self) -> str:
        """The data as text."""
        if isinstance(self.data, str):
            return self.data
        return self.as_bytes().decode(self.encoding)

    def as_bytes(self) -> bytes:
        """The data as bytes."""
        if isinstance(self.data, str):
            return self.data.encode(self.encoding)
        return self.data if self.data is not None else self._file().read_bytes()

    @contextmanager
    def as_bytes_io(self) -> Generator[BinaryIO]:
        """The data as a file that is open for reading."""
        if self.data is None:
            with self._file().open("rb") as opened:
                yield opened
        else:
            yield BytesIO(self.as_bytes())

    def _file(self) -> Path:
        return Path(self.path or "")

    @classmethod
    def from_path(
        cls,
        path: str | PathLike[str],
        *,
        encoding: str = "utf-8",
        mime_type: str | None = None,
        guess_type: bool = True,
        metadata: dict[str, Any] | None = None,
    ) -> Self:
        """A blob whose data is in a file, read when asked for."""
        if mime_type is None and guess_type:
            mime_type = mimetypes.guess_type(path)[0]
        return cls(path=path, mimetype=mime_type, encoding=encoding, metadata=metadata or {})

    @classmethod
    def from_data(
        cls,
        data: str | bytes,
        *,
        encoding: str = "utf-8",
        mime_type: str | None = None,
        path: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Self:
        """A blob that holds its data."""
        return cls(
            data=data, mimetype=mime_type, encoding=encoding, path=path, metadata=metadata or {}
        )
