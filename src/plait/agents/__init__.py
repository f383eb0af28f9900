"""Agents: `create_agent`, and the middleware that it is made finer with."""

from typing import TYPE_CHECKING

from plait.lazy import lazily

if TYPE_CHECKING:
    from plait.agents.actions import AgentAction, AgentActionMessageLog, AgentFinish, AgentStep
    from plait.agents.factory import create_agent
    from plait.agents.middleware.types import AgentState

__getattr__ = lazily(
    __name__,
    {
        "AgentAction": "actions",
        "AgentActionMessageLog": "actions",
        "AgentFinish": "actions",
        "AgentState": "plait.agents.middleware.types",
        "AgentStep": "actions",
        "create_agent": "factory",
    },
)

__all__ = [
    "AgentAction",
    "AgentActionMessageLog",
    "AgentFinish",
    "AgentState",
    "AgentStep",
    "create_agent",
]
