"""Haystack's component-style agent: a face of the same graphs. Names load on first use.

`haystack.components.agents`, `haystack.tools`, `haystack.dataclasses` and their like: change the
import to `plait.haystack` and go on.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.haystack.agent import Agent
    from plait.haystack.breakpoints import (
        AgentBreakpoint,
        AgentSnapshot,
        Breakpoint,
        PipelineSnapshot,
        PipelineState,
        ToolBreakpoint,
    )
    from plait.haystack.component_tool import ComponentTool
    from plait.haystack.components import (
        component,
        default_from_dict,
        default_to_dict,
        deserialize_chatgenerator_inplace,
    )
    from plait.haystack.errors import (
        BreakpointException,
        ComponentError,
        DeserializationError,
        PipelineInvalidPipelineSnapshotError,
        PipelineRuntimeError,
        SchemaGenerationError,
        SerializationError,
        StringConversionError,
        ToolInvocationError,
        ToolInvokerError,
        ToolNotFoundException,
        ToolOutputMergeError,
    )
    from plait.haystack.functions import create_tool_from_function, tool
    from plait.haystack.generators import ChatGenerator, ChatModelGenerator
    from plait.haystack.images import ImageContent
    from plait.haystack.invoker import ToolInvoker
    from plait.haystack.messages import (
        ChatMessage,
        ChatRole,
        ReasoningContent,
        TextContent,
        ToolCall,
        ToolCallResult,
    )
    from plait.haystack.openai import OpenAIChatGenerator
    from plait.haystack.registry import deserialize_callable, register, serialize_callable
    from plait.haystack.secrets import Secret, SecretType, deserialize_secrets_inplace
    from plait.haystack.snapshots import load_pipeline_snapshot, save_pipeline_snapshot
    from plait.haystack.state import State, merge_lists, replace_values
    from plait.haystack.streaming import (
        AsyncStreamingCallbackT,
        ComponentInfo,
        FinishReason,
        StreamingCallbackT,
        StreamingChunk,
        SyncStreamingCallbackT,
        ToolCallDelta,
        print_streaming_chunk,
        select_streaming_callback,
    )
    from plait.haystack.tools import (
        Tool,
        Toolset,
        ToolsType,
        deserialize_tools_or_toolset_inplace,
        flatten_tools_or_toolsets,
        serialize_tools_or_toolset,
        warm_up_tools,
    )
    from plait.haystack.type_names import deserialize_type, serialize_type

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Agent",), "agent"),
        **dict.fromkeys(
            (
                *("AgentBreakpoint", "AgentSnapshot", "Breakpoint", "PipelineSnapshot"),
                *("PipelineState", "ToolBreakpoint"),
            ),
            "breakpoints",
        ),
        "ComponentTool": "component_tool",
        **dict.fromkeys(
            (
                *("component", "default_from_dict", "default_to_dict"),
                "deserialize_chatgenerator_inplace",
            ),
            "components",
        ),
        **dict.fromkeys(
            (
                *("BreakpointException", "ComponentError", "DeserializationError"),
                *("PipelineInvalidPipelineSnapshotError", "PipelineRuntimeError"),
                *("SchemaGenerationError", "SerializationError", "StringConversionError"),
                *("ToolInvocationError", "ToolInvokerError", "ToolNotFoundException"),
                "ToolOutputMergeError",
            ),
            "errors",
        ),
        **dict.fromkeys(("create_tool_from_function", "tool"), "functions"),
        **dict.fromkeys(("ChatGenerator", "ChatModelGenerator"), "generators"),
        "ImageContent": "images",
        "ToolInvoker": "invoker",
        **dict.fromkeys(
            (
                *("ChatMessage", "ChatRole", "ReasoningContent", "TextContent", "ToolCall"),
                "ToolCallResult",
            ),
            "messages",
        ),
        "OpenAIChatGenerator": "openai",
        **dict.fromkeys(("deserialize_callable", "register", "serialize_callable"), "registry"),
        **dict.fromkeys(("Secret", "SecretType", "deserialize_secrets_inplace"), "secrets"),
        **dict.fromkeys(("load_pipeline_snapshot", "save_pipeline_snapshot"), "snapshots"),
        **dict.fromkeys(("State", "merge_lists", "replace_values"), "state"),
        **dict.fromkeys(
            (
                *("AsyncStreamingCallbackT", "ComponentInfo", "FinishReason"),
                *("StreamingCallbackT", "StreamingChunk", "SyncStreamingCallbackT"),
                *("ToolCallDelta", "print_streaming_chunk", "select_streaming_callback"),
            ),
            "streaming",
        ),
        **dict.fromkeys(
            (
                *("Tool", "ToolsType", "Toolset", "deserialize_tools_or_toolset_inplace"),
                *("flatten_tools_or_toolsets", "serialize_tools_or_toolset", "warm_up_tools"),
            ),
            "tools",
        ),
        **dict.fromkeys(("deserialize_type", "serialize_type"), "type_names"),
    },
)

__all__ = [
    "Agent",
    "AgentBreakpoint",
    "AgentSnapshot",
    "AsyncStreamingCallbackT",
    "Breakpoint",
    "BreakpointException",
    "ChatGenerator",
    "ChatMessage",
    "ChatModelGenerator",
    "ChatRole",
    "ComponentError",
    "ComponentInfo",
    "ComponentTool",
    "DeserializationError",
    "FinishReason",
    "ImageContent",
    "OpenAIChatGenerator",
    "PipelineInvalidPipelineSnapshotError",
    "PipelineRuntimeError",
    "PipelineSnapshot",
    "PipelineState",
    "ReasoningContent",
    "SchemaGenerationError",
    "Secret",
    "SecretType",
    "SerializationError",
    "State",
    "StreamingCallbackT",
    "StreamingChunk",
    "StringConversionError",
    "SyncStreamingCallbackT",
    "TextContent",
    "Tool",
    "ToolBreakpoint",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallResult",
    "ToolInvocationError",
    "ToolInvoker",
    "ToolInvokerError",
    "ToolNotFoundException",
    "ToolOutputMergeError",
    "ToolsType",
    "Toolset",
    "component",
    "create_tool_from_function",
    "default_from_dict",
    "default_to_dict",
    "deserialize_callable",
    "deserialize_chatgenerator_inplace",
    "deserialize_secrets_inplace",
    "deserialize_tools_or_toolset_inplace",
    "deserialize_type",
    "flatten_tools_or_toolsets",
    "load_pipeline_snapshot",
    "merge_lists",
    "print_streaming_chunk",
    "register",
    "replace_values",
    "save_pipeline_snapshot",
    "select_streaming_callback",
    "serialize_callable",
    "serialize_tools_or_toolset",
    "serialize_type",
    "tool",
    "warm_up_tools",
]
