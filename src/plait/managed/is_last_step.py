"""How many super-steps the recursion limit leaves, and whether this is the last."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from plait.managed.base import ManagedValue, Steps


class IsLastStepManager(ManagedValue[bool]):
    """Whether the recursion limit ends the run after this super-step."""

    @staticmethod
    def get(scratchpad: Steps) -> bool:
        return IsLastStepManager.at(scratchpad.step, scratchpad.stop)

    @classmethod
    def at(cls, step: int, stop: int) -> bool:
        """The same without a `Steps`: agents are told in each turn."""
        return step == stop - 1


class RemainingStepsManager(ManagedValue[int]):
    """How many super-steps the recursion limit leaves, this one included."""

    @staticmethod
    def get(scratchpad: Steps) -> int:
        return RemainingStepsManager.at(scratchpad.step, scratchpad.stop)

    @classmethod
    def at(cls, step: int, stop: int) -> int:
        """The same without a `Steps`: agents are told in each turn."""
        return stop - step


IsLastStep: TypeAlias = Annotated[bool, IsLastStepManager]
RemainingSteps: TypeAlias = Annotated[int, RemainingStepsManager]

__all__ = ["IsLastStep", "RemainingStepsManager"]
