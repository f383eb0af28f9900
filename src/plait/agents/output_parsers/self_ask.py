"""`SelfAskOutputParser`: follow-up questions, and answers."""

from collections.abc import Sequence

from plait.agents.actions import AgentAction, AgentFinish
from plait.agents.output_parsers.base import AgentOutputParser, finish, unread


class SelfAskOutputParser(AgentOutputParser):
    """Reads the last line of a model that asks itself: the next question, or the answer.

    Args:
        followups: What may stand before a question.
        finish_string: What stands before the answer.

    >>> SelfAskOutputParser().parse("Yes.\\nFollow up: How old is he?").tool_input
    'How old is he?'
    >>> SelfAskOutputParser().parse("So the final answer is: 42").return_values
    {'output': '42'}
    """

    followups: Sequence[str] = ("Follow up:", "Followup:")
    finish_string: str = "So the final answer is:"

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The question for the tool, or the end.

        Raises:
            OutputParserException: The last line is neither. It goes back to the model if the
                executor handles parsing errors.
        """
        line = text.rstrip().rsplit("\n", 1)[-1]
        for mark in self.followups:
            if mark in line:
                return AgentAction(INTERMEDIATE_ANSWER, line.split(mark, 1)[1].strip(), text)
        if self.finish_string in line:
            return finish(line.split(self.finish_string, 1)[1].strip(), text)
        wanted = f"'{self.followups[0]}' with a question, or '{self.finish_string}'"
        raise unread(text, f"Invalid Format: the last line must be {wanted} with the answer.")

    @property
    def _type(self) -> str:
        return "self-ask"


INTERMEDIATE_ANSWER = "Intermediate Answer"
"""The name of the one tool of an agent that asks itself."""


__all__ = ["INTERMEDIATE_ANSWER", "SelfAskOutputParser"]
