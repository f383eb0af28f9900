"""How many super-steps the recursion limit leaves, and whether this is the last."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from plait.managed.base import ManagedValue


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


IsLastStep: TypeAlias = Annotated[bool, IsLastStepManager]
RemainingSteps: TypeAlias = Annotated[int, RemainingStepsManager]

__all__ = ["IsLastStep", "RemainingStepsManager"]
