"""`XMLAgentOutputParser`: actions and answers in tags."""

import re
from typing import Literal

from plait.agents.actions import AgentAction, AgentFinish
from plait.agents.format_scratchpad.xml import unescaped
from plait.agents.output_parsers.base import AgentOutputParser, finish, unread


class XMLAgentOutputParser(AgentOutputParser):
    """Reads XML: `<tool>` and `<tool_input>`, or `<final_answer>`; its last tag may be left open.

    Args:
        escape_format: "minimal": `[[tool]]` in a text stands for `<tool>`, and so on, as
            `format_xml` writes them; None: texts are as they are.

    >>> XMLAgentOutputParser().parse("<tool>search</tool><tool_input>cats").tool_input
    'cats'
    >>> XMLAgentOutputParser().parse("<final_answer>42</final_answer>").return_values
    {'output': '42'}
    """

    escape_format: Literal["minimal"] | None = "minimal"

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The action or the end that a text tells of; of both the action, since what a model writes
        after it is made up.

        Raises:
            OutputParserException: It tells of neither, or of a tag several times. It goes back to
                the model if the executor handles parsing errors.
        """
        tool = self._within("tool", text)
        if tool is not None:
            return AgentAction(tool, self._within("tool_input", text) or "", text)
        answer = self._within("final_answer", text)
        if answer is None:
            raise unread(text, _WANTED_XML)
        return finish(answer, text)

    def _within(self, tag: str, text: str) -> str | None:
        """The text in a tag; None without."""
        found: list[str] = re.findall(f"<{tag}>(.*?)(?:</{tag}>|$)", text, re.DOTALL)
        if len(found) > 1:
            raise unread(text, f"Invalid Format: there are {len(found)} <{tag}> tags, not one.")
        if not found:
            return None
        text = found[0].strip()
        return text if self.escape_format is None else unescaped(text)

    def get_format_instructions(self) -> str:
        """What to tell a model."""
        return (
            "Either use a tool:\n<tool>its name</tool><tool_input>its input</tool_input>\n"
            "or end:\n<final_answer>your answer</final_answer>"
        )

    @property
    def _type(self) -> str:
        return "xml-agent"


_WANTED_XML = "Invalid Format: write <tool> and <tool_input>, or <final_answer>."


__all__ = ["XMLAgentOutputParser"]
