"""`ReActSingleInputOutputParser`: actions and answers in lines of text."""

import re

from plait.agents.actions import AgentAction, AgentFinish
from plait.agents.output_parsers.base import FINAL_ANSWER, AgentOutputParser, finish, unread
from plait.exceptions import OutputParserException


class ReActSingleInputOutputParser(AgentOutputParser):
    """Reads the text form of ReAct: `Action:` and `Action Input:` lines, or `Final Answer:`.

    >>> ReActSingleInputOutputParser().parse("Action: search\\nAction Input: cats").tool_input
    'cats'
    >>> ReActSingleInputOutputParser().parse("Thought: easy\\nFinal Answer: 42").return_values
    {'output': '42'}
    """

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The action or the end that a text tells of.

        Raises:
            OutputParserException: It tells of neither, or of both. The first goes back to the
                model if the executor handles parsing errors.
        """
        action = _ACTION.search(text)
        is_end = f"{FINAL_ANSWER}:" in text
        if action and is_end:
            raise OutputParserException(
                f"The model gave a final answer and an action at once: {text}"
            )
        if action:
            return AgentAction(action["tool"].strip(), _unquoted(action["input"]), text)
        if is_end:
            return finish(text.rsplit(f"{FINAL_ANSWER}:", 1)[-1].strip(), text)
        missing = "'Action Input:' after 'Action:'"
        if not re.search(r"Action\s*\d*\s*:", text):
            missing = "'Action:' after 'Thought:'"
        raise unread(text, f"Invalid Format: Missing {missing}")

    def get_format_instructions(self) -> str:
        """What to tell a model."""
        return (
            "Either act:\nThought: what you think\nAction: the name of a tool\n"
            f"Action Input: its input\nor end:\nThought: what you think\n{FINAL_ANSWER}: the answer"
        )

    @property
    def _type(self) -> str:
        return "react-single-input"


_ACTION = re.compile(
    r"Action\s*\d*\s*:\s*(?P<tool>.*?)\s*Action\s*\d*\s*Input\s*\d*\s*:(?P<input>.*)", re.DOTALL
)


def _unquoted(text: str) -> str:
    """An input without the quotes around it; without any, its line ends are its own."""
    bare = text.strip()
    is_quoted = len(bare) > 1 and bare[0] == bare[-1] == '"'
    return bare[1:-1] if is_quoted else text.lstrip().rstrip(" ")


__all__ = ["ReActSingleInputOutputParser"]
