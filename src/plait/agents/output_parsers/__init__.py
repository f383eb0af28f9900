"""Parsers of agents: from what a model said to what the agent does next, or its end."""

from plait.agents.actions import ToolAgentAction
from plait.agents.output_parsers.base import AgentOutputParser, MultiActionAgentOutputParser
from plait.agents.output_parsers.json import JSONAgentOutputParser
from plait.agents.output_parsers.openai_tools import OpenAIToolsAgentOutputParser
from plait.agents.output_parsers.react_json_single_input import ReActJsonSingleInputOutputParser
from plait.agents.output_parsers.react_single_input import ReActSingleInputOutputParser
from plait.agents.output_parsers.self_ask import SelfAskOutputParser
from plait.agents.output_parsers.tools import ToolsAgentOutputParser
from plait.agents.output_parsers.xml import XMLAgentOutputParser

__all__ = [
    "AgentOutputParser",
    "JSONAgentOutputParser",
    "MultiActionAgentOutputParser",
    "OpenAIToolsAgentOutputParser",
    "ReActJsonSingleInputOutputParser",
    "ReActSingleInputOutputParser",
    "SelfAskOutputParser",
    "ToolAgentAction",
    "ToolsAgentOutputParser",
    "XMLAgentOutputParser",
]
