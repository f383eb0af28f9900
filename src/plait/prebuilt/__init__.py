"""Ready-made parts of agents: nodes that run tools, and a whole agent. Names load on first use."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.prebuilt.chat_agent_executor import create_react_agent
    from plait.prebuilt.injection import InjectedState, InjectedStore, ToolRuntime
    from plait.prebuilt.interrupt import (
        ActionRequest,
        HumanInterrupt,
        HumanInterruptConfig,
        HumanResponse,
    )
    from plait.prebuilt.tool_node import ToolNode, tools_condition
    from plait.prebuilt.tool_policies import ToolPolicy
    from plait.prebuilt.tool_validator import ValidationNode
    from plait.stream.tool_calls import ToolCallTransformer

__getattr__ = lazily(
    __name__,
    {
        "ActionRequest": "interrupt",
        "HumanInterrupt": "interrupt",
        "HumanInterruptConfig": "interrupt",
        "HumanResponse": "interrupt",
        "InjectedState": "injection",
        "InjectedStore": "injection",
        "ToolCallTransformer": "plait.stream.tool_calls",
        "ToolNode": "tool_node",
        "ToolPolicy": "tool_policies",
        "ToolRuntime": "injection",
        "ValidationNode": "tool_validator",
        "create_react_agent": "chat_agent_executor",
        "tools_condition": "tool_node",
    },
)

__all__ = [
    "ActionRequest",
    "HumanInterrupt",
    "HumanInterruptConfig",
    "HumanResponse",
    "InjectedState",
    "InjectedStore",
    "ToolCallTransformer",
    "ToolNode",
    "ToolPolicy",
    "ToolRuntime",
    "ValidationNode",
    "create_react_agent",
    "tools_condition",
]
