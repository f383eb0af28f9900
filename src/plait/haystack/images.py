"""`ImageContent`: an image inside a message."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from io import BytesIO
from mimetypes import guess_type
from pathlib import Path
from typing import Any, Literal
from warnings import warn

from plait.errors import InvalidValueError, MissingExtraError, NotSupportedError
from plait.haystack.errors import reading_part

Detail = Literal["auto", "high", "low"]

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)


@dataclass
class ImageContent:
    """An image.

    Args:
        base64_image: Its bytes.
        mime_type: "image/png" and the like; None: what its first bytes say.
        detail: How closely OpenAI's models look.
        meta: What else is known.
        validation: Check the bytes and the type.

    Raises:
        InvalidValueError: It is no image.
    """

    base64_image: str
    mime_type: str | None = None
    detail: Detail | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any])
    validation: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        if not self.validation:
            return
        try:
            content = base64.b64decode(self.base64_image, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidValueError("base64_image is no base64: give the image's bytes.") from error
        if self.mime_type is None:
            self.mime_type = _kind(content)
        if self.mime_type is None:
            warn("What kind of image this is cannot be told: give it a mime_type.", stacklevel=3)
        elif not self.mime_type.startswith("image/") and self.mime_type != "application/pdf":
            raise InvalidValueError(f"mime_type {self.mime_type!r} is no type of an image.")

    def show(self) -> None:
        """Show the image: in a notebook below the cell, else in a window. Needs Pillow.

        Raises:
            MissingExtraError: Pillow is not installed.
            OSError: It is no image that Pillow can read (a PDF is none).
        """
        try:
            opened: Any = import_module("PIL.Image").open
        except ImportError as error:
            raise MissingExtraError(
                "ImageContent.show needs Pillow, which is not installed: pip install pillow."
            ) from error
        image = opened(BytesIO(base64.b64decode(self.base64_image)))
        if _is_in_notebook():
            import_module("IPython.display").display(image)
        else:
            image.show()

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ImageContent:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            return cls(**data)

    @classmethod
    def from_file_path(
        cls,
        file_path: str | Path,
        *,
        size: tuple[int, int] | None = None,
        detail: Detail | None = None,
        meta: dict[str, Any] | None = None,
    ) -> ImageContent:
        """The image of a file.

        Args:
            file_path: The file.
            size: Not supported; here since Haystack has it.
            detail: How closely OpenAI's models look.
            meta: What else is known.

        Raises:
            OSError: It cannot be read.
            InvalidValueError: It is no image.
            NotSupportedError: There is a size.
        """
        _check_size(size)
        path = Path(file_path)
        content = path.read_bytes()
        found = guess_type(path.name)[0] or _kind(content)
        told = {"file_path": str(file_path), **(meta or {})}
        return cls(base64.b64encode(content).decode(), found, detail, told)

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        retry_attempts: int = 2,
        timeout: int = 10,
        size: tuple[int, int] | None = None,
        detail: Detail | None = None,
        meta: dict[str, Any] | None = None,
    ) -> ImageContent:
        """The image at an address.

        Args:
            url: An address of http or https.
            retry_attempts: How often it is tried again.
            timeout: Seconds, for each attempt.
            size: Not supported; here since Haystack has it.
            detail: How closely OpenAI's models look.
            meta: What else is known.

        Raises:
            OSError: It cannot be read.
            InvalidValueError: It is no image.
            NotSupportedError: There is a size.
        """
        _check_size(size)
        if not url.startswith(("http://", "https://")):
            raise InvalidValueError(f"The address of an image is of http or https, not {url!r}.")
        content, kind = _fetched(url, retry_attempts, timeout)
        if not kind.startswith("image/"):
            raise InvalidValueError(f"At {url} is no image, but {kind}.")
        told = {"content_type": kind, "url": url, **(meta or {})}
        return cls(base64.b64encode(content).decode(), kind, detail, told)


def _is_in_notebook() -> bool:
    """Whether what runs is a cell of a notebook: its shell has a kernel."""
    shell: Any = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def _fetched(url: str, attempts: int, timeout: float) -> tuple[bytes, str]:
    """What an address gives, and of which type it says that is.

    Raises:
        OSError: It cannot be read.
    """
    from urllib.request import urlopen  # few need it, and it loads much

    for left in range(attempts, -1, -1):
        try:
            with urlopen(url, timeout=timeout) as answer:
                return answer.read(), answer.headers.get_content_type()
        except OSError:
            if not left:
                raise
    raise InvalidValueError("retry_attempts must not be negative.")


def _kind(content: bytes) -> str | None:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _SIGNATURES if content.startswith(start)), None)


def _check_size(size: tuple[int, int] | None) -> None:
    if size is not None:
        raise NotSupportedError(
            "Images are sent as they are: make this one smaller before, with Pillow's "
            "Image.thumbnail, and leave size out."
        )


__all__ = ["Detail", "ImageContent"]
