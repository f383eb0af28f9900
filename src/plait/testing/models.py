"""Models without intelligence, for tests: they say what they were told to say."""

from plait.chat_models.fake import (
    Call,
    FakeListChatModel,
    FakeListChatModelError,
    GenericFakeChatModel,
    ScriptedChatModel,
    ScriptExhaustedError,
)
from plait.chat_models.fake_more import (
    FakeListLLM,
    FakeListLLMError,
    FakeMessagesListChatModel,
    FakeStreamingListLLM,
    ParrotFakeChatModel,
)

__all__ = [
    "Call",
    "FakeListChatModel",
    "FakeListChatModelError",
    "FakeListLLM",
    "FakeListLLMError",
    "FakeMessagesListChatModel",
    "FakeStreamingListLLM",
    "GenericFakeChatModel",
    "ParrotFakeChatModel",
    "ScriptExhaustedError",
    "ScriptedChatModel",
]
