"""The turns of a history: each message with the answers right after it, and ids that bind the two.

An answer that a repair or a handoff gives to a call has an id that is made of the message and the
call. In the state of a graph around the agent, or in an agent's own memory, such an answer comes
behind all that was known already; by its id it is known again, goes back to its call, and stays one
answer if two agents give it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID, uuid5

from plait.messages.foreign import kind_of

_WORDS = UUID("5f0c1c2e-6a0f-5b0e-9a63-0d8f6f1b7c11")


def turns(messages: Sequence[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """The messages, those that make calls each with the answers right after it."""
    answers: list[Any] = []
    waiting: set[str] = set()
    for message in messages:
        kind = kind_of(message)
        if kind == "tool" and message.tool_call_id in waiting:
            waiting.discard(message.tool_call_id)
            answers.append(message)
            continue
        if kind == "tool":
            yield message, []
            continue
        calls = [*message.tool_calls, *message.invalid_tool_calls] if kind == "ai" else []
        answers, waiting = [], {call["id"] for call in calls}
        yield message, answers


def strays(found: Iterable[tuple[Any, list[Any]]]) -> dict[str, list[Any]]:
    """The answers among turns that stand right after no call of theirs, by the id of the call."""
    elsewhere: dict[str, list[Any]] = {}
    for head, _ in found:
        if kind_of(head) == "tool":
            elsewhere.setdefault(head.tool_call_id, []).append(head)
    return elsewhere


def word_id(message: Any, call_id: str) -> str | None:
    """The id of an answer that is bound to a call of a message; None where that has no id.

    >>> from plait.messages import AIMessage
    >>> word_id(AIMessage("", id="a"), "1") == word_id(AIMessage("", id="a"), "1")
    True
    """
    return str(uuid5(_WORDS, f"{message.id} {call_id}")) if message.id else None


def is_word_of(answer: Any, message: Any) -> bool:
    """Whether an answer is bound to a call of this message."""
    return bool(answer.id) and answer.id == word_id(message, answer.tool_call_id)


__all__ = ["is_word_of", "strays", "turns", "word_id"]
