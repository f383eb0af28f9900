"""The closed registry of types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


class Registry:
    """The types that may be stored, by their wire names."""

    def __init__(self, parent: Registry | None = None) -> None:
        self.parent = parent

    def child(self) -> Registry:
        """A registry that inherits from this one."""
        return Registry(self)

    def register(
        self,
        cls: C,
        *,
        name: str | None = None,
        encode: Callable[[Any], Any] | None = None,
        decode: Callable[[Any], Any] | None = None,
    ) -> C:
        """Allow a class."""
        return cls

    def register_schema(self, tp: Any) -> None:
        """Allow what an annotation names."""


GLOBAL = Registry()
register = GLOBAL.register
