"""What scratchpads are made of."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from plait.agents.actions import AgentAction

Steps: TypeAlias = Sequence[tuple[AgentAction, Any]]
"""Actions, each with what came of it."""

__all__ = ["Steps"]
