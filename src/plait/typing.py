"""Small typing vocabulary shared by every floor."""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, final

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:  # that package is slow to load, and nobody asks a type variable for its default
    from typing import TypeVar as _TypeVar

    def TypeVar(name, *, default=None, **kind):
        return _TypeVar(name, **kind)


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

ClassT = TypeVar("ClassT", bound=type)


def subscriptable(cls: ClassT) -> ClassT:
    """Lets a class take any number of type arguments, which only type checkers look at.

    >>> @subscriptable
    ... class Graph: ...
    >>> Graph[int].__origin__ is Graph, Graph[int, str].__args__ == (int, str)
    (True, True)
    """
    open_class: Any = cls
    open_class.__class_getitem__ = classmethod(GenericAlias)
    return cls


StateLike = Any
"""What may declare a state: a TypedDict, a dataclass, a pydantic model, or any other type."""
StateT = TypeVar("StateT", default=Any)
"""The state of a graph."""
StateT_co = TypeVar("StateT_co", covariant=True)
StateT_contra = TypeVar("StateT_contra", contravariant=True)
InputT = TypeVar("InputT", default=Any)
"""What a graph takes."""
OutputT = TypeVar("OutputT", default=Any)
"""What a graph returns."""
ContextT = TypeVar("ContextT", default=Any)
"""The run context of a graph."""

__all__ = ["ContextT", "InputT", "OutputT", "StateLike", "StateT", "StateT_co", "StateT_contra"]
