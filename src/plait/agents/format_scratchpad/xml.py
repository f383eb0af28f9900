"""`format_xml`: steps as XML."""

import re
from typing import Literal

from plait.agents.actions import as_text
from plait.agents.format_scratchpad.steps import Steps


def format_xml(
    intermediate_steps: Steps, *, escape_format: Literal["minimal"] | None = "minimal"
) -> str:
    """The steps as XML: tools, what they were given, and what they gave back.

    Args:
        intermediate_steps: The steps.
        escape_format: "minimal": these tags inside a text are written as `[[tool]]`, and so on, so
            that a text cannot end its own; None: texts are written as they are.

    >>> from plait.agents.actions import AgentAction
    >>> format_xml([(AgentAction("search", "cats", ""), "<tool>meow</tool>")])
    '<tool>search</tool><tool_input>cats</tool_input><observation>[[tool]]meow[[/tool]]</observation>'
    """
    written = str if escape_format is None else _escaped
    return "".join(
        f"<tool>{written(action.tool)}</tool>"
        f"<tool_input>{written(as_text(action.tool_input))}</tool_input>"
        f"<observation>{written(as_text(observation))}</observation>"
        for action, observation in intermediate_steps
    )


_TAGS = "tool|tool_input|observation|final_answer"


def _escaped(text: str) -> str:
    return re.sub(rf"<(/?(?:{_TAGS}))>", r"[[\1]]", text)


def unescaped(text: str) -> str:
    """A text with the tags in it that `format_xml` has escaped."""
    return re.sub(rf"\[\[(/?(?:{_TAGS}))\]\]", r"<\1>", text)


__all__ = ["format_xml", "unescaped"]
