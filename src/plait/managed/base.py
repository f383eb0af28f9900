"""The base of managed values: keys of a node's input that the run computes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import isfunction
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from plait.errors import InvalidGraphError

ValueT = TypeVar("ValueT")


class Steps(NamedTuple):
    """How far a run has come, and how far it may go."""

    step: int
    """The super-step that a value is computed for."""
    stop: int
    """The first super-step that the recursion limit no longer allows."""


class ManagedValue(ABC, Generic[ValueT]):
    """Base of managed values. A subclass computes one from how far the run has come.

    >>> class Percent(ManagedValue[int]):
    ...     @staticmethod
    ...     def get(scratchpad):
    ...         return 100 * scratchpad.step // scratchpad.stop
    >>> Percent.at(5, 25)
    20
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if isfunction(vars(cls).get("get")):
            raise InvalidGraphError(
                f"{cls.__name__}.get(scratchpad) is called on the class: write @staticmethod above "
                "it."
            )

    @staticmethod
    @abstractmethod
    def get(scratchpad: Steps) -> ValueT:
        """The value of a super-step."""
        raise NotImplementedError("A managed value must define get(scratchpad).")

    @classmethod
    def at(cls, step: int, stop: int) -> ValueT:
        """The value in super-step `step` of a run that may take steps below `stop`."""
        return cls.get(Steps(step, stop))


ManagedValueSpec: TypeAlias = type[ManagedValue[Any]]
ManagedValueMapping: TypeAlias = dict[str, ManagedValueSpec]


def is_managed_value(value: object) -> bool:
    """Whether something stands in a graph's channels for a value that the run computes.

    >>> is_managed_value(ManagedValue), is_managed_value(int)
    (True, False)
    """
    return isinstance(value, type) and issubclass(value, ManagedValue)


__all__ = ["ManagedValueMapping", "ManagedValueSpec"]
