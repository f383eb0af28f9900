"""`JSONAgentOutputParser`: actions and answers in JSON."""

import json
from typing import Any, cast

from plait.agents.actions import AgentAction, AgentFinish
from plait.agents.output_parsers.base import FINAL_ANSWER, AgentOutputParser, finish, unread
from plait.utils.json import parse_json_markdown


class JSONAgentOutputParser(AgentOutputParser):
    """Reads JSON with `action` and `action_input`, between other text or in a fence.

    The action "Final Answer" is the end.

    >>> JSONAgentOutputParser().parse('{"action": "search", "action_input": "cats"}').tool
    'search'
    """

    def parse(self, text: str) -> AgentAction | AgentFinish:
        """The action or the end that a text holds; of a list of actions the first.

        Raises:
            OutputParserException: There is no such JSON. It goes back to the model if the
                executor handles parsing errors.
        """
        try:
            found = parse_json_markdown(text)
        except ValueError as error:
            raise unread(text, _WANTED) from error
        if isinstance(found, list) and found:
            found = cast("list[Any]", found)[0]
        action = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        if not isinstance(action.get("action"), str):
            raise unread(text, _WANTED)
        given = action.get("action_input")
        if action["action"] == FINAL_ANSWER:
            if "action_input" not in action:
                raise unread(text, _WANTED)
            return finish(given, text)
        return AgentAction(action["action"], _tool_input(given), text)

    def get_format_instructions(self) -> str:
        """What to tell a model."""
        return (
            'Answer with one JSON object: {"action": the name of a tool, "action_input": its '
            f'input}}. To end, the action is "{FINAL_ANSWER}" and the input is your answer.'
        )

    @property
    def _type(self) -> str:
        return "json-agent"


_WANTED = 'Invalid Format: answer with a JSON object that has "action" and "action_input".'


def _tool_input(given: Any) -> Any:
    """The input of a tool: none is no arguments; what is neither text nor arguments is a text."""
    if given is None:
        return {}
    is_fine = isinstance(given, (str, dict))
    return cast("Any", given) if is_fine else json.dumps(given)


__all__ = ["JSONAgentOutputParser"]
