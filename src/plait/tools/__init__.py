"""Tools: functions that a model may call. Names load on first use, pydantic with a schema.

What a tool knows of the graph around it (`ToolRuntime`, ...) is told by `plait.prebuilt`, and has
its name here too, as in `langchain.tools`.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.prebuilt.injection import InjectedState, InjectedStore, ToolRuntime
    from plait.tools.base import BaseTool, BaseToolkit
    from plait.tools.convert import convert_runnable_to_tool, tool
    from plait.tools.guests import coerce_to_tool
    from plait.tools.injected import (
        DirectlyInjectedToolArg,
        InjectedToolArg,
        InjectedToolCallId,
        SchemaAnnotationError,
        ToolException,
    )
    from plait.tools.render import (
        ToolsRenderer,
        render_text_description,
        render_text_description_and_args,
    )
    from plait.tools.retriever import RetrieverInput, create_retriever_tool
    from plait.tools.schema import ArgsSchema, create_schema_from_function
    from plait.tools.signatures import FILTERED_ARGS
    from plait.tools.simple import Tool
    from plait.tools.structured import StructuredTool

__getattr__ = lazily(
    __name__,
    {
        "ArgsSchema": "schema",
        "BaseTool": "base",
        "BaseToolkit": "base",
        "DirectlyInjectedToolArg": "injected",
        "FILTERED_ARGS": "signatures",
        "InjectedState": "plait.prebuilt.injection",
        "InjectedStore": "plait.prebuilt.injection",
        "InjectedToolArg": "injected",
        "InjectedToolCallId": "injected",
        "RetrieverInput": "retriever",
        "SchemaAnnotationError": "injected",
        "StructuredTool": "structured",
        "Tool": "simple",
        "ToolException": "injected",
        "ToolRuntime": "plait.prebuilt.injection",
        "ToolsRenderer": "render",
        "coerce_to_tool": "guests",
        "convert_runnable_to_tool": "convert",
        "create_retriever_tool": "retriever",
        "create_schema_from_function": "schema",
        "render_text_description": "render",
        "render_text_description_and_args": "render",
        "tool": "convert",
    },
)

__all__ = [
    "FILTERED_ARGS",
    "ArgsSchema",
    "BaseTool",
    "BaseToolkit",
    "DirectlyInjectedToolArg",
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "RetrieverInput",
    "SchemaAnnotationError",
    "StructuredTool",
    "Tool",
    "ToolException",
    "ToolRuntime",
    "ToolsRenderer",
    "coerce_to_tool",
    "convert_runnable_to_tool",
    "create_retriever_tool",
    "create_schema_from_function",
    "render_text_description",
    "render_text_description_and_args",
    "tool",
]
