"""Small typing vocabulary shared by every floor."""

from __future__ import annotations

from typing import Final, TypeVar, final


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

StateT = TypeVar("StateT")
"""The state of a graph."""
StateT_co = TypeVar("StateT_co", covariant=True)
StateT_contra = TypeVar("StateT_contra", contravariant=True)
InputT = TypeVar("InputT")
"""What a graph takes."""
OutputT = TypeVar("OutputT")
"""What a graph returns."""
ContextT = TypeVar("ContextT")
"""The run context of a graph."""

__all__ = ["ContextT", "InputT", "OutputT", "StateT", "StateT_co", "StateT_contra"]
