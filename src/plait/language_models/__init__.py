"""Models to derive from, and fakes, under LangChain's path (`langchain_core.language_models`)."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.chat_models import (
        LLM,
        BaseChatModel,
        BaseLanguageModel,
        BaseLLM,
        FakeListChatModel,
        FakeListLLM,
        FakeMessagesListChatModel,
        FakeStreamingListLLM,
        GenericFakeChatModel,
        LanguageModelLike,
        ParrotFakeChatModel,
        SimpleChatModel,
    )
    from plait.chat_models.language import LangSmithParams
    from plait.language_models.base import LanguageModelInput, LanguageModelOutput
    from plait.language_models.model_profile import ModelProfile, ModelProfileRegistry

__all__ = [
    "LLM",
    "BaseChatModel",
    "BaseLLM",
    "BaseLanguageModel",
    "FakeListChatModel",
    "FakeListLLM",
    "FakeMessagesListChatModel",
    "FakeStreamingListLLM",
    "GenericFakeChatModel",
    "LangSmithParams",
    "LanguageModelInput",
    "LanguageModelLike",
    "LanguageModelOutput",
    "ModelProfile",
    "ModelProfileRegistry",
    "ParrotFakeChatModel",
    "SimpleChatModel",
]

_TYPES = {
    **dict.fromkeys(("LanguageModelInput", "LanguageModelOutput"), "base"),
    "LangSmithParams": "plait.chat_models.language",
    **dict.fromkeys(("ModelProfile", "ModelProfileRegistry"), "model_profile"),
}
__getattr__ = lazily(__name__, {**dict.fromkeys(__all__, "plait.chat_models"), **_TYPES})
