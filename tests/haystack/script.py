"""A chat generator that says what it was told to say, and tools for it."""

from typing import Any

from plait.haystack import ChatMessage, StreamingChunk, ToolCall, component, tool
from plait.types import interrupt

say, user = ChatMessage.from_assistant, ChatMessage.from_user


@component
class Scripted:
    """Says its replies one after the other, word by word where somebody listens."""

    def __init__(self, *replies: ChatMessage):
        self.replies = list(replies)
        self.seen: list[int] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: Any, tools: Any = None, streaming_callback: Any = None):
        self.seen.append(len(messages))
        reply = self.replies.pop(0)
        if streaming_callback:
            for word in (reply.text or "").split():
                streaming_callback(StreamingChunk(word))
        return {"replies": [reply]}


@component
class Answering:
    """Says the reply that belongs to the conversation it is shown, so that any process may ask."""

    def __init__(self, replies: list[ChatMessage]):
        self.replies = replies

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: Any, tools: Any = None):
        said = sum(1 for message in messages if message.is_from("assistant"))
        return {"replies": [self.replies[said]]}


def call(name: str, call_id: str = "1", **arguments: Any) -> ChatMessage:
    return say(tool_calls=[ToolCall(name, arguments, call_id)])


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def plus(a: int, b: int) -> int:
    """Add, as a plain function."""
    return a + b


@tool
def pay(amount: int) -> str:
    """Pay, if a person agrees."""
    return "paid" if interrupt(f"Pay {amount}?") else "refused"
