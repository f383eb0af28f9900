"""`ChatMessage`: what a speaker with a role of its own says."""

from typing import Any, Literal

from plait.messages.base import BaseMessage, BaseMessageChunk
from plait.messages.fields import Field, check_str


class ChatMessage(BaseMessage):
    """What a speaker with a free `role` says.

    >>> ChatMessage("hi", role="referee").role
    'referee'
    """

    __slots__ = ()
    type: Literal["chat"] = "chat"  # pyright: ignore[reportIncompatibleVariableOverride]
    role: str = Field("role", required=True, check=check_str, json={"type": "string"})  # pyright: ignore[reportAssignmentType]


class ChatMessageChunk(ChatMessage, BaseMessageChunk):
    """A piece of a streamed `ChatMessage`."""

    __slots__ = ()
    type: Literal["ChatMessageChunk"] = "ChatMessageChunk"  # pyright: ignore[reportIncompatibleVariableOverride]

    def __plait_combine__(self, made: Any, rare: dict[str, Any], pieces: list[Any]) -> None:
        if any(isinstance(p, ChatMessageChunk) and p.role != self.role for p in pieces):
            raise ValueError("Cannot concatenate ChatMessageChunks with different roles.")
