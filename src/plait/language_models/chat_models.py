"""Chat models to derive from, and how the chunks of a stream add up."""

from collections.abc import AsyncIterator, Iterator

from plait.chat_models.base import BaseChatModel
from plait.chat_models.language import LangSmithParams
from plait.chat_models.results import ChatGenerationChunk, ChatResult, result_of_stream
from plait.chat_models.simple import SimpleChatModel
from plait.language_models.base import BaseLanguageModel, LanguageModelInput


def generate_from_stream(stream: Iterator[ChatGenerationChunk]) -> ChatResult:
    """The result that the chunks of one stream add up to; for a `_generate` that streams.

    Raises:
        ValueError: There are no chunks.

    >>> from plait.messages import AIMessageChunk
    >>> pieces = [ChatGenerationChunk(message=AIMessageChunk(text)) for text in ("Good ", "day")]
    >>> generate_from_stream(iter(pieces)).generations[0].message.content
    'Good day'
    """
    return result_of_stream(list(stream))


async def agenerate_from_stream(stream: AsyncIterator[ChatGenerationChunk]) -> ChatResult:
    """The async twin of `generate_from_stream`."""
    return result_of_stream([chunk async for chunk in stream])


__all__ = [
    "BaseChatModel",
    "BaseLanguageModel",
    "LangSmithParams",
    "LanguageModelInput",
    "SimpleChatModel",
    "agenerate_from_stream",
    "generate_from_stream",
]
