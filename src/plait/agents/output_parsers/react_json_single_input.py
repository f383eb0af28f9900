"""`ReActJsonSingleInputOutputParser`: actions in JSON, in a fence, after a thought."""

import re

from plait.agents.actions import AgentAction, AgentFinish
from plait.agents.output_parsers.base import FINAL_ANSWER, AgentOutputParser, finish, unread
from plait.agents.output_parsers.json import JSONAgentOutputParser


class ReActJsonSingleInputOutputParser(AgentOutputParser):
    """Reads ReAct whose action is JSON in a fence; with `Final Answer:`, a text is the end.

    >>> parser = ReActJsonSingleInputOutputParser()
    >>> parser.parse('```{"action": "search", "action_input": "cats"}```').tool_input
    'cats'
    """

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The action or the end that a text tells of; of both the end, whose answer may have a
        fence in it.

        Raises:
            OutputParserException: It tells of neither. It goes back to the model if the executor
                handles parsing errors.
        """
        if f"{FINAL_ANSWER}:" in text:
            return finish(text.rsplit(f"{FINAL_ANSWER}:", 1)[-1].strip(), text)
        fenced = _FENCE.search(text)
        if fenced is None:
            raise unread(text, "Invalid Format: give a JSON action in a ``` fence.")
        decided = JSONAgentOutputParser().parse(fenced["json"])
        return decided.model_copy(update={"log": text})

    @property
    def _type(self) -> str:
        return "react-json-single-input"


_FENCE = re.compile(r"```\w*\n?(?P<json>.*?)```", re.DOTALL)


__all__ = ["ReActJsonSingleInputOutputParser"]
