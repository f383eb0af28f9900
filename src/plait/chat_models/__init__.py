"""Chat models: real ones by name, the bases to derive one from, result types, and fakes for tests.

    model = init_chat_model("openai:gpt-5")

Names load on first use; the fakes are in `plait.chat_models.fake`.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.chat_models.base import BaseChatModel
    from plait.chat_models.configurable import init_chat_model
    from plait.chat_models.fake import FakeListChatModel, GenericFakeChatModel
    from plait.chat_models.fake_more import (
        FakeListLLM,
        FakeMessagesListChatModel,
        FakeStreamingListLLM,
        ParrotFakeChatModel,
    )
    from plait.chat_models.guests import as_chat_model
    from plait.chat_models.language import BaseLanguageModel, LanguageModelLike
    from plait.chat_models.llms import LLM, BaseLLM
    from plait.chat_models.results import (
        ChatGeneration,
        ChatGenerationChunk,
        ChatResult,
        Generation,
        GenerationChunk,
        LLMResult,
        RunInfo,
    )
    from plait.chat_models.simple import SimpleChatModel

__getattr__ = lazily(
    __name__,
    {
        "BaseChatModel": "base",
        "BaseLLM": "llms",
        "BaseLanguageModel": "language",
        "ChatGeneration": "results",
        "ChatGenerationChunk": "results",
        "ChatResult": "results",
        "FakeListChatModel": "fake",
        "FakeListLLM": "fake_more",
        "FakeMessagesListChatModel": "fake_more",
        "FakeStreamingListLLM": "fake_more",
        "Generation": "results",
        "GenerationChunk": "results",
        "GenericFakeChatModel": "fake",
        "LLM": "llms",
        "LLMResult": "results",
        "LanguageModelLike": "language",
        "ParrotFakeChatModel": "fake_more",
        "RunInfo": "results",
        "SimpleChatModel": "simple",
        "as_chat_model": "guests",
        "init_chat_model": "configurable",
    },
)

__all__ = [
    "LLM",
    "BaseChatModel",
    "BaseLLM",
    "BaseLanguageModel",
    "ChatGeneration",
    "ChatGenerationChunk",
    "ChatResult",
    "FakeListChatModel",
    "FakeListLLM",
    "FakeMessagesListChatModel",
    "FakeStreamingListLLM",
    "Generation",
    "GenerationChunk",
    "GenericFakeChatModel",
    "LLMResult",
    "LanguageModelLike",
    "ParrotFakeChatModel",
    "RunInfo",
    "SimpleChatModel",
    "as_chat_model",
    "init_chat_model",
]
