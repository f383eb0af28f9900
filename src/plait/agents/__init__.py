"""Agents: `create_agent`, and the middleware that it is made finer with."""

from typing import TYPE_CHECKING

from plait.lazy import lazily

if TYPE_CHECKING:
    from plait.agents.factory import create_agent
    from plait.agents.middleware.types import AgentState

__getattr__ = lazily(
    __name__,
    {
        "AgentState": "plait.agents.middleware.types",
        "create_agent": "factory",
    },
)

__all__ = ["AgentState", "create_agent"]
