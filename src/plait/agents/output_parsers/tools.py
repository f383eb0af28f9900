"""`ToolsAgentOutputParser`: the tool calls of a message."""

import json
from typing import Any

from plait.agents.actions import AgentFinish, ToolAgentAction
from plait.agents.output_parsers.base import MultiActionAgentOutputParser, unread
from plait.errors import InvalidValueError
from plait.messages.foreign import kind_of

TEXT_ARGUMENT = "__arg1"
"""What models call the one argument of a tool that takes a text."""


class ToolsAgentOutputParser(MultiActionAgentOutputParser):
    """Reads the tool calls of a message; a message without any is the end.

    >>> from plait.messages import AIMessage
    >>> said = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "7"}])
    >>> [(action.tool, action.tool_call_id) for action in ToolsAgentOutputParser().invoke(said)]
    [('add', '7')]
    """

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The actions, or the end.

        Raises:
            InvalidValueError: There is no message of a model (it is a TypeError).
            OutputParserException: The arguments of a call are no JSON.
        """
        message: Any = getattr(result[0], "message", None)
        if kind_of(message) != "ai":
            raise InvalidValueError(
                f"{self.get_name()} reads the messages of chat models, got "
                f"{type(message if message is not None else result[0]).__name__}."
            )
        calls = message.tool_calls or _older_calls(message)
        if calls:
            return [_action_of(call, message) for call in calls]
        if message.invalid_tool_calls:
            names = ", ".join(str(one.get("name")) for one in message.invalid_tool_calls)
            raise unread(
                str(message.invalid_tool_calls),
                f"Invalid Format: the arguments of the call of {names} are no valid JSON.",
            )
        return AgentFinish({"output": message.content}, str(message.content))

    def parse(self, text: str) -> Any:
        """Texts have no tool calls.

        Raises:
            InvalidValueError: Always.
        """
        raise InvalidValueError(f"{self.get_name()} reads messages, not texts: use invoke().")

    @property
    def _type(self) -> str:
        return "tools-agent-output-parser"


def _older_calls(message: Any) -> list[dict[str, Any]]:
    """Tool calls that a model left in OpenAI's form."""
    calls: list[dict[str, Any]] = []
    for call in message.additional_kwargs.get("tool_calls", ()):
        function = call["function"]
        try:
            args = json.loads(function["arguments"] or "{}")
        except ValueError as error:
            raise unread(
                str(call), f"Invalid Format: the arguments of {function['name']!r} are no JSON."
            ) from error
        if not isinstance(args, dict):
            raise unread(
                str(call),
                f"Invalid Format: the arguments of {function['name']!r} are no JSON object.",
            )
        calls.append({"name": function["name"], "args": args, "id": call.get("id")})
    return calls


def _action_of(call: Any, message: Any) -> ToolAgentAction:
    args = call["args"]
    given = args.get(TEXT_ARGUMENT, args)
    said = f"responded: {message.content}\n" if message.content else "\n"
    return ToolAgentAction(
        tool=call["name"],
        tool_input=given,
        log=f"\nInvoking: `{call['name']}` with `{given}`\n{said}\n",
        message_log=[message],
        tool_call_id=call["id"],
    )


__all__ = ["TEXT_ARGUMENT", "ToolAgentAction", "ToolsAgentOutputParser"]
