"""Small typing vocabulary shared by every floor."""

from __future__ import annotations

from typing import Final, final


@final
class Missing:
    """The type of `MISSING`: the absence of a value where None is a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __copy__(self) -> Missing:
        return self

    def __deepcopy__(self, memo: object) -> Missing:
        return self


MISSING: Final = Missing()
"""Stands for the absence of a value where None is a value."""
