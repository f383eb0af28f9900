"""The base of managed values: keys of a node's input that the run computes."""

from __future__ import annotations

from typing import TypeAlias


class ManagedValue:
    """Base of managed values. A subclass computes one from the step and the last allowed step."""

    @staticmethod
    def get(step: int, stop: int) -> object:
        """The value in super-step `step` of a run that may take steps below `stop`."""
        raise NotImplementedError


ManagedValueSpec: TypeAlias = type[ManagedValue]
ManagedValueMapping: TypeAlias = dict[str, ManagedValueSpec]


def is_managed_value(value: object) -> bool:
    """Whether something stands in a graph's channels for a value that the run computes.

    >>> is_managed_value(ManagedValue), is_managed_value(int)
    (True, False)
    """
    return isinstance(value, type) and issubclass(value, ManagedValue)


__all__ = ["ManagedValueMapping", "ManagedValueSpec"]
