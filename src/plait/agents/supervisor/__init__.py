"""A supervisor and its agents, under the names of langgraph-supervisor."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.agents.supervisor.agent_name import with_agent_name
    from plait.agents.supervisor.building import create_supervisor
    from plait.agents.supervisor.handoff import (
        create_forward_message_tool,
        create_handoff_back_messages,
        create_handoff_tool,
    )

__getattr__ = lazily(
    __name__,
    {
        "create_forward_message_tool": "plait.agents.supervisor.handoff",
        "create_handoff_back_messages": "plait.agents.supervisor.handoff",
        "create_handoff_tool": "plait.agents.supervisor.handoff",
        "create_supervisor": "building",
        "with_agent_name": "plait.agents.supervisor.agent_name",
    },
)

__all__ = [
    "create_forward_message_tool",
    "create_handoff_back_messages",
    "create_handoff_tool",
    "create_supervisor",
    "with_agent_name",
]
