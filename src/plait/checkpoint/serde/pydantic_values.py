"""Values of pydantic's own types (URLs, secrets, sizes): storable where a schema names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

_setattr = object.__setattr__
_BY_ATTRIBUTES = frozenset({"ByteSize", "NameEmail", "Secret", "SecretBytes", "SecretStr"})
"""Which are stored as classes of a program are."""


def is_pydantic_value(cls: type[Any]) -> bool:
    """Whether a class is one of pydantic's own whose values can be stored."""
    if cls.__module__ not in ("pydantic.types", "pydantic.networks"):
        return False
    return cls.__name__ in _BY_ATTRIBUTES or is_url(cls)


def is_url(cls: type[Any]) -> bool:
    """Whether a class is one of pydantic's URLs, or built on one (without importing pydantic)."""
    return any(
        base.__module__ == "pydantic.networks" and hasattr(base, "unicode_string")
        for base in cls.__mro__
    )


def shape_of_url(cls: type[Any]) -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    """The (encode, decode) pair of a class of URLs: their text, checked when it was written."""
    from pydantic_core import MultiHostUrl, Url

    parse = cast("Callable[..., Any]", MultiHostUrl if hasattr(cls, "hosts") else Url)

    def encode(url: Any) -> str:
        return str(url._url)

    def decode(text: str) -> Any:
        inner = parse(text)
        if str(inner) != text:  # pydantic 2.12 and later can keep "http://host" without a slash
            inner = parse(text, preserve_empty_path=True)
        url = object.__new__(cls)
        _setattr(url, "_url", inner)
        return url

    return encode, decode


__all__ = ["is_pydantic_value", "is_url", "shape_of_url"]
