"""The two surfaces of what is tested, its sync and its async methods: failures say which."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal, TypeAlias

Surface: TypeAlias = Literal["sync", "async"]


@contextmanager
def through(surface: Surface) -> Generator[None]:
    """What fails inside says through which methods."""
    try:
        yield
    except Exception as error:
        error.add_note(f"through the {surface} methods")
        raise


__all__ = ["Surface", "through"]
