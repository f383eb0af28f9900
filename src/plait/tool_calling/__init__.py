"""A person between a tool call and its execution: decorators, policies, and tool calls read.

The decorators follow langchain-dev-utils' `tool_calling`. Names load on first use.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.tool_calling.calls import has_tool_calling, parse_tool_calling
    from plait.tool_calling.review import (
        InterruptParams,
        human_in_the_loop,
        human_in_the_loop_async,
    )

__getattr__ = lazily(
    __name__,
    {
        "InterruptParams": "review",
        "has_tool_calling": "calls",
        "human_in_the_loop": "review",
        "human_in_the_loop_async": "review",
        "parse_tool_calling": "calls",
    },
)

__all__ = [
    "InterruptParams",
    "has_tool_calling",
    "human_in_the_loop",
    "human_in_the_loop_async",
    "parse_tool_calling",
]
