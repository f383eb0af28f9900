"""Chat sessions: conversations as data, for those who read or train on them."""

from collections.abc import Sequence
from typing import Any, TypedDict

from plait.messages import AnyMessage


class ChatSession(TypedDict, total=False):
    """A conversation, and the functions that its model could call."""

    messages: Sequence[AnyMessage]
    functions: Sequence[dict[str, Any]]


__all__ = ["ChatSession"]
