"""Chat models that say what they were told to say."""

from plait.chat_models.fake import (
    FakeListChatModel,
    FakeListChatModelError,
    GenericFakeChatModel,
)
from plait.chat_models.fake_more import FakeMessagesListChatModel, ParrotFakeChatModel

__all__ = [
    "FakeListChatModel",
    "FakeListChatModelError",
    "FakeMessagesListChatModel",
    "GenericFakeChatModel",
    "ParrotFakeChatModel",
]
