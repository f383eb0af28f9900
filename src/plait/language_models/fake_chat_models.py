"""Chat models that say what they were told to say."""

from plait.chat_models.fake import (
    FakeListChatModel,
    FakeListChatModelError,
    GenericFakeChatModel,
)
from plait.chat_models.fake_more import (
    FakeChatModel,
    FakeMessagesListChatModel,
    ParrotFakeChatModel,
)

__all__ = [
    "FakeChatModel",
    "FakeListChatModel",
    "FakeListChatModelError",
    "FakeMessagesListChatModel",
    "GenericFakeChatModel",
    "ParrotFakeChatModel",
]
