"""What parsers of agents derive from and share."""

from typing import Any

from plait.agents.actions import AgentAction, AgentFinish
from plait.exceptions import OutputParserException
from plait.output_parsers.base import BaseOutputParser

FINAL_ANSWER = "Final Answer"
"""What models say where a tool's name would stand (in JSON), or before the answer (in text)."""


class AgentOutputParser(BaseOutputParser[AgentAction | AgentFinish]):
    """Reads one action, or the end. Derive from it and define `parse`."""


class MultiActionAgentOutputParser(BaseOutputParser[list[AgentAction] | AgentFinish]):
    """Reads any number of actions, or the end. Derive from it and define `parse`."""


def finish(output: Any, log: str) -> AgentFinish:
    """The end, with the answer."""
    return AgentFinish({"output": output}, log)


def unread(text: str, observation: str) -> OutputParserException:
    """The error that an executor may send back to the model."""
    return OutputParserException(
        f"Could not parse LLM output: `{text}`",
        observation=observation,
        llm_output=text,
        send_to_llm=True,
    )


__all__ = [
    "FINAL_ANSWER",
    "AgentOutputParser",
    "MultiActionAgentOutputParser",
    "finish",
    "unread",
]
