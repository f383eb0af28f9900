"""Reading tool calls, where langchain_dev_utils has it."""

from plait.tool_calling import has_tool_calling, parse_tool_calling

__all__ = ["has_tool_calling", "parse_tool_calling"]
