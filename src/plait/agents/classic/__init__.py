"""The older loop: agents that plan, the tools that they name, and the executor around both."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.agents.classic.base import (
        BaseMultiActionAgent,
        BaseSingleActionAgent,
        RunnableAgent,
        RunnableMultiActionAgent,
    )
    from plait.agents.classic.creating import (
        create_json_chat_agent,
        create_openai_tools_agent,
        create_react_agent,
        create_self_ask_with_search_agent,
        create_structured_chat_agent,
        create_tool_calling_agent,
        create_xml_agent,
    )
    from plait.agents.classic.executor import AgentExecutor
    from plait.agents.output_parsers import AgentOutputParser, MultiActionAgentOutputParser

__getattr__ = lazily(
    __name__,
    {
        "AgentExecutor": "executor",
        "AgentOutputParser": "plait.agents.output_parsers",
        "BaseMultiActionAgent": "base",
        "BaseSingleActionAgent": "base",
        "MultiActionAgentOutputParser": "plait.agents.output_parsers",
        "RunnableAgent": "base",
        "RunnableMultiActionAgent": "base",
        "create_json_chat_agent": "creating",
        "create_openai_tools_agent": "creating",
        "create_react_agent": "creating",
        "create_self_ask_with_search_agent": "creating",
        "create_structured_chat_agent": "creating",
        "create_tool_calling_agent": "creating",
        "create_xml_agent": "creating",
    },
)

__all__ = [
    "AgentExecutor",
    "AgentOutputParser",
    "BaseMultiActionAgent",
    "BaseSingleActionAgent",
    "MultiActionAgentOutputParser",
    "RunnableAgent",
    "RunnableMultiActionAgent",
    "create_json_chat_agent",
    "create_openai_tools_agent",
    "create_react_agent",
    "create_self_ask_with_search_agent",
    "create_structured_chat_agent",
    "create_tool_calling_agent",
    "create_xml_agent",
]
