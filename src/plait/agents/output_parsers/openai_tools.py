"""`ToolsAgentOutputParser` under an older name, where LangChain has it."""

from plait.agents.actions import ToolAgentAction as OpenAIToolAgentAction
from plait.agents.output_parsers.tools import ToolsAgentOutputParser as OpenAIToolsAgentOutputParser

__all__ = ["OpenAIToolAgentAction", "OpenAIToolsAgentOutputParser"]
