"""Answers to tool calls whose arguments could not be read, before the model is asked again.

A provider refuses a history in which a call has no answer, and no tool can run such a call.
"""

from collections.abc import Sequence
from typing import Any

from plait.messages import ToolMessage
from plait.messages.fields import may_have
from plait.messages.foreign import kind_of

UNREADABLE_TEMPLATE = (
    "Tool call {name} with id {id} could not be executed - arguments were malformed or truncated."
)


def with_answers(messages: Sequence[Any]) -> list[Any] | None:
    """The messages with an answer right after each message that makes such calls.

    Args:
        messages: The history of an agent.

    Returns:
        None if every such call is answered, wherever.

    >>> from plait.messages import AIMessage, HumanMessage
    >>> call = {"name": "add", "args": "{", "id": "1", "error": None}
    >>> history = [AIMessage("", invalid_tool_calls=[call]), HumanMessage("Well?")]
    >>> [message.type for message in with_answers(history)]
    ['ai', 'tool', 'human']
    """
    if not may_have(messages, "invalid_tool_calls"):
        return None
    answered = {one.tool_call_id for one in messages if kind_of(one) == "tool"}
    whole: list[Any] = []
    for message in messages:
        whole.append(message)
        if kind_of(message) != "ai":
            continue
        for call in message.invalid_tool_calls:
            if call["id"] is not None and call["id"] not in answered:
                answered.add(call["id"])
                whole.append(_answer(call["name"] or "unknown", call["id"]))
    return None if len(whole) == len(messages) else whole


def _answer(name: str, call_id: str) -> ToolMessage:
    told = UNREADABLE_TEMPLATE.format(name=name, id=call_id)
    return ToolMessage(told, name=name, tool_call_id=call_id, status="error")


__all__ = ["with_answers"]
