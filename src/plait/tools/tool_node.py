"""What `wrap_tool_call` and tools know of a call, under the module path of `langchain.tools`."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.prebuilt.injection import InjectedState, InjectedStore, ToolRuntime
    from plait.prebuilt.tool_node import ToolCallRequest, ToolCallWithContext, ToolCallWrapper

__getattr__ = lazily(
    __name__,
    {
        "InjectedState": "plait.prebuilt.injection",
        "InjectedStore": "plait.prebuilt.injection",
        "ToolCallRequest": "plait.prebuilt.tool_node",
        "ToolCallWithContext": "plait.prebuilt.tool_node",
        "ToolCallWrapper": "plait.prebuilt.tool_node",
        "ToolRuntime": "plait.prebuilt.injection",
    },
)

__all__ = [
    "InjectedState",
    "InjectedStore",
    "ToolCallRequest",
    "ToolCallWithContext",
    "ToolCallWrapper",
    "ToolRuntime",
]
