"""`BaseChatMessageHistory`, what keeps the messages of one session, and the one in memory."""

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, cast

from plait.messages import AIMessage, BaseMessage, HumanMessage, get_buffer_string
from plait.messages.errors import InvalidMessageError
from plait.messages.foreign import is_message
from plait.objects.abstract import Abstract
from plait.objects.model_face import ComparedFields


def _message(kind: type[BaseMessage], said: Any) -> BaseMessage:
    """A message as it is; of anything else, a message of this kind with it as its content."""
    return said if hasattr(said, "content") else kind(said)


def _messages(given: Any) -> list[BaseMessage]:
    """The messages in a list of their own; nothing else is taken for one."""
    found = list(cast("Iterable[Any]", given)) if isinstance(given, Iterable) else [given]
    wrong = [item for item in found if not is_message(item)]
    if wrong:
        raise InvalidMessageError(
            f"messages={given!r} of a chat history is no list of messages: it holds {wrong[:1]}. "
            "Make messages of texts and dicts with convert_to_messages([...])."
        )
    return found


class BaseChatMessageHistory(Abstract):
    """The messages of one session. Define `messages`, `add_messages` and `clear`."""

    messages: Any
    """The messages, oldest first: a list, or a property that reads them."""

    async def aget_messages(self) -> list[BaseMessage]:
        """The messages; here read on a thread."""
        return await asyncio.to_thread(lambda: self.messages)

    def add_message(self, message: BaseMessage) -> None:
        """Add one message.

        Raises:
            NotImplementedError: The class defines neither this nor `add_messages`.
        """
        if type(self).add_messages is BaseChatMessageHistory.add_messages:
            raise NotImplementedError(f"{type(self).__name__} must define add_messages().")
        self.add_messages([message])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages; here one by one."""
        for message in messages:
            self.add_message(message)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages; here on a thread."""
        await asyncio.to_thread(self.add_messages, messages)

    def add_user_message(self, message: HumanMessage | str) -> None:
        """Add what a human said: a message, or its content."""
        self.add_message(_message(HumanMessage, message))

    def add_ai_message(self, message: AIMessage | str) -> None:
        """Add what a model said: a message, or its content."""
        self.add_message(_message(AIMessage, message))

    @abstractmethod
    def clear(self) -> None:
        """Forget all messages."""

    async def aclear(self) -> None:
        """Forget all messages; here on a thread."""
        await asyncio.to_thread(self.clear)

    def __str__(self) -> str:
        return get_buffer_string(self.messages)


class InMemoryChatMessageHistory(BaseChatMessageHistory, ComparedFields):
    """The messages of one session in a list.

    Raises:
        InvalidMessageError: Something in `messages` is no message.

    >>> history = InMemoryChatMessageHistory()
    >>> history.add_user_message("hi")
    >>> print(history)
    Human: hi
    """

    __plait_fields__ = ("messages",)

    def __init__(self, messages: Sequence[BaseMessage] = ()) -> None:
        self.messages = _messages(messages)

    async def aget_messages(self) -> list[BaseMessage]:
        """The messages."""
        return self.messages

    def add_message(self, message: BaseMessage) -> None:
        """Add one message."""
        self.messages.append(message)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages."""
        self.add_messages(messages)

    def clear(self) -> None:
        """Forget all messages."""
        self.messages = []

    async def aclear(self) -> None:
        """Forget all messages."""
        self.clear()


ChatMessageHistory = InMemoryChatMessageHistory

__all__ = ["BaseChatMessageHistory", "ChatMessageHistory", "InMemoryChatMessageHistory"]
