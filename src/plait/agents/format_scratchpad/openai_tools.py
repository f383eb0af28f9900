"""`format_to_tool_messages` under an older name, where LangChain has it."""

from plait.agents.format_scratchpad.tools import (
    format_to_tool_messages as format_to_openai_tool_messages,
)

__all__ = ["format_to_openai_tool_messages"]
