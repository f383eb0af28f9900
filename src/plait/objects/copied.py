"""How pydantic's models are copied, for plait's own objects, which are none."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from typing import Any, Self


class Copied:
    """A class whose objects are copied as pydantic's models are."""

    __slots__ = ()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values of some fields, which are not validated."""
        made = deepcopy(self) if deep else copy(self)
        for name, value in (update or {}).items():
            setattr(made, name, value)
        return made

    def copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The older name of `model_copy`."""
        return self.model_copy(update=update, deep=deep)


__all__ = ["Copied"]
