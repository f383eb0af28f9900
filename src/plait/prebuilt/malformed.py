"""Answers to tool calls whose arguments could not be read, before the model is asked again.

A provider refuses a history in which a call has no answer, and no tool can run such a call.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from plait.messages import ToolMessage
from plait.messages.fields import may_have
from plait.messages.foreign import kind_of
from plait.prebuilt.turns import is_word_of, strays, turns, word_id

UNREADABLE_TEMPLATE = (
    "Tool call {name} with id {id} could not be executed - arguments were malformed or truncated."
)


def with_answers(messages: Sequence[Any]) -> list[Any] | None:
    """The messages with an answer right after each message that makes such calls.

    Args:
        messages: The history of an agent.

    Returns:
        None if every such call is answered: right after its message, or elsewhere by somebody else.

    >>> from plait.messages import AIMessage, HumanMessage
    >>> call = {"name": "add", "args": "{", "id": "1", "error": None}
    >>> history = [AIMessage("", invalid_tool_calls=[call]), HumanMessage("Well?")]
    >>> [message.type for message in with_answers(history)]
    ['ai', 'tool', 'human']
    """
    if not may_have(messages, "invalid_tool_calls"):
        return None
    found = list(turns(messages))
    elsewhere = strays(found)
    told: dict[int, ToolMessage] = {}
    for head, answers in found:
        if kind_of(head) == "ai":
            given = list(_answers(head, {one.tool_call_id for one in answers}, elsewhere))
            answers[:0] = given
            told.update((id(one), one) for one in given)
    if not told:
        return None
    return [one for head, answers in found if id(head) not in told for one in (head, *answers)]


def _answers(
    message: Any, direct: Collection[str], elsewhere: Mapping[str, list[Any]]
) -> Iterator[ToolMessage]:
    """What is still to be told about the calls of a message, or to be put behind it again."""
    for call in message.invalid_tool_calls:
        name, call_id = call["name"] or "unknown", call["id"]
        if call_id is None or call_id in direct:
            continue
        late = elsewhere.get(call_id)
        answer = late.pop(0) if late else None
        if answer is None:
            told = UNREADABLE_TEMPLATE.format(name=name, id=call_id)
            unread = word_id(message, call_id)
            yield ToolMessage(told, name=name, tool_call_id=call_id, status="error", id=unread)
        elif is_word_of(answer, message):
            yield answer


__all__ = ["with_answers"]
