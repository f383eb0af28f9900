"""The answers of chat models, where LangChain has them."""

from plait.chat_models.results import ChatGeneration, ChatGenerationChunk

__all__ = ["ChatGeneration", "ChatGenerationChunk"]
