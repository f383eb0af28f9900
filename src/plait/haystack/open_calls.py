"""Tool calls that a stopped run has left without an answer on its thread: the next turn answers."""

from __future__ import annotations

from collections.abc import Sequence

from plait.haystack.messages import ChatMessage, ChatRole, ToolCall
from plait.prebuilt.agent_history import INTERRUPTED_TEMPLATE


def interrupted_answers(
    stored: Sequence[ChatMessage], given: Sequence[ChatMessage]
) -> list[ChatMessage]:
    """An answer for each call at the end of a conversation that has none, so that it can go on.

    Args:
        stored: The conversation so far.
        given: What it goes on with, which may hold answers.

    >>> call = ToolCall("add", {}, "1")
    >>> stored = [ChatMessage.from_assistant(tool_calls=[call])]
    >>> [answer.tool_call_result.error for answer in interrupted_answers(stored, [])]
    [True]
    >>> interrupted_answers(stored, [ChatMessage.from_tool("3", call)])
    []
    """
    calls: list[ToolCall] = []
    answered = [result.origin for message in given for result in message.tool_call_results]
    for message in reversed(stored):
        if not message.is_from(ChatRole.ASSISTANT) and not message.is_from(ChatRole.TOOL):
            break
        answered += [result.origin for result in message.tool_call_results]
        calls = [*message.tool_calls, *calls]
    return [_interrupted(call) for call in calls if not _taken(call, answered)]


def closed(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """A conversation whose last calls have answers, those that have none right behind the calls."""
    ends = [place for place, message in enumerate(messages, 1) if message.tool_calls]
    end = ends[-1] if ends else 0
    stored, given = messages[:end], messages[end:]
    return [*stored, *interrupted_answers(stored, given), *given]


def _taken(call: ToolCall, answered: list[ToolCall]) -> bool:
    """Whether one of the answers is the call's; it is that of no other call."""
    known = call if call.id is None else call.id
    for place, origin in enumerate(answered):
        if known == (origin if call.id is None else origin.id):
            del answered[place]
            return True
    return False


def _interrupted(call: ToolCall) -> ChatMessage:
    told = INTERRUPTED_TEMPLATE.format(tool_name=call.tool_name)
    return ChatMessage.from_tool(told, call, error=True)


__all__ = ["closed", "interrupted_answers"]
