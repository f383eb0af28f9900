"""Managed values: keys of a node's input that the run computes instead of a channel.

>>> from typing import TypedDict
>>> class State(TypedDict):
...     remaining_steps: RemainingSteps
"""

from plait.managed.base import ManagedValue, is_managed_value
from plait.managed.is_last_step import (
    IsLastStep,
    IsLastStepManager,
    RemainingSteps,
    RemainingStepsManager,
)

__all__ = [
    "IsLastStep",
    "IsLastStepManager",
    "ManagedValue",
    "RemainingSteps",
    "RemainingStepsManager",
    "is_managed_value",
]
