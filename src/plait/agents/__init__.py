"""Agents: `create_agent`, and the middleware that it is made finer with."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.agents.actions import AgentAction, AgentActionMessageLog, AgentFinish, AgentStep
    from plait.agents.agent_tool import create_agent_tool
    from plait.agents.classic import (
        AgentExecutor,
        AgentOutputParser,
        BaseMultiActionAgent,
        BaseSingleActionAgent,
        MultiActionAgentOutputParser,
        RunnableAgent,
        RunnableMultiActionAgent,
        create_json_chat_agent,
        create_openai_tools_agent,
        create_react_agent,
        create_self_ask_with_search_agent,
        create_structured_chat_agent,
        create_tool_calling_agent,
        create_xml_agent,
    )
    from plait.agents.factory import create_agent
    from plait.agents.middleware.types import AgentState
    from plait.agents.supervisor import create_supervisor
    from plait.agents.swarm import create_swarm
    from plait.tools import Tool, tool

__getattr__ = lazily(
    __name__,
    {
        "AgentAction": "actions",
        "AgentActionMessageLog": "actions",
        "AgentExecutor": "plait.agents.classic",
        "AgentFinish": "actions",
        "AgentOutputParser": "plait.agents.classic",
        "AgentState": "plait.agents.middleware.types",
        "AgentStep": "actions",
        "BaseMultiActionAgent": "plait.agents.classic",
        "BaseSingleActionAgent": "plait.agents.classic",
        "MultiActionAgentOutputParser": "plait.agents.classic",
        "RunnableAgent": "plait.agents.classic",
        "RunnableMultiActionAgent": "plait.agents.classic",
        "Tool": "plait.tools",
        "create_agent": "factory",
        "create_agent_tool": "agent_tool",
        "create_json_chat_agent": "plait.agents.classic",
        "create_openai_tools_agent": "plait.agents.classic",
        "create_react_agent": "plait.agents.classic",
        "create_self_ask_with_search_agent": "plait.agents.classic",
        "create_structured_chat_agent": "plait.agents.classic",
        "create_supervisor": "plait.agents.supervisor",
        "create_swarm": "swarm",
        "create_tool_calling_agent": "plait.agents.classic",
        "create_xml_agent": "plait.agents.classic",
        "tool": "plait.tools",
    },
)

__all__ = [
    "AgentAction",
    "AgentActionMessageLog",
    "AgentExecutor",
    "AgentFinish",
    "AgentOutputParser",
    "AgentState",
    "AgentStep",
    "BaseMultiActionAgent",
    "BaseSingleActionAgent",
    "MultiActionAgentOutputParser",
    "RunnableAgent",
    "RunnableMultiActionAgent",
    "Tool",
    "create_agent",
    "create_agent_tool",
    "create_json_chat_agent",
    "create_openai_tools_agent",
    "create_react_agent",
    "create_self_ask_with_search_agent",
    "create_structured_chat_agent",
    "create_supervisor",
    "create_swarm",
    "create_tool_calling_agent",
    "create_xml_agent",
    "tool",
]
