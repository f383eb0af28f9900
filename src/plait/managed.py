"""Managed values: keys of a node's input that the run computes instead of a channel.

>>> from typing import TypedDict
>>> class State(TypedDict):
...     remaining_steps: RemainingSteps
"""

from __future__ import annotations

from typing import Annotated, TypeAlias


class ManagedValue:
    """Base of managed values. A subclass computes one from the step and the last allowed step."""

    @staticmethod
    def get(step: int, stop: int) -> object:
        """The value in super-step `step` of a run that may take steps below `stop`."""
        raise NotImplementedError


class IsLastStepManager(ManagedValue):
    """Whether the recursion limit ends the run after this super-step."""

    @staticmethod
    def get(step: int, stop: int) -> bool:
        return step == stop - 1


class RemainingStepsManager(ManagedValue):
    """How many super-steps the recursion limit leaves, this one included."""

    @staticmethod
    def get(step: int, stop: int) -> int:
        return stop - step


def is_managed_value(value: object) -> bool:
    """Whether something stands in a graph's channels for a value that the run computes.

    >>> is_managed_value(IsLastStepManager), is_managed_value(int)
    (True, False)
    """
    return isinstance(value, type) and issubclass(value, ManagedValue)


IsLastStep: TypeAlias = Annotated[bool, IsLastStepManager]
RemainingSteps: TypeAlias = Annotated[int, RemainingStepsManager]

__all__ = ["IsLastStep", "RemainingSteps"]
