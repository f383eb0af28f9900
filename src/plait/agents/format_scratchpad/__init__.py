"""Agent scratchpads: what an agent did so far, as text or messages for its next prompt.

Each function takes the intermediate steps, pairs of an action and what its tool gave back.
"""

from plait.agents.format_scratchpad.log import format_log_to_str
from plait.agents.format_scratchpad.log_to_messages import format_log_to_messages
from plait.agents.format_scratchpad.openai_functions import (
    format_to_openai_function_messages,
    format_to_openai_functions,
)
from plait.agents.format_scratchpad.openai_tools import format_to_openai_tool_messages
from plait.agents.format_scratchpad.tools import format_to_tool_messages
from plait.agents.format_scratchpad.xml import format_xml

__all__ = [
    "format_log_to_messages",
    "format_log_to_str",
    "format_to_openai_function_messages",
    "format_to_openai_functions",
    "format_to_openai_tool_messages",
    "format_to_tool_messages",
    "format_xml",
]
