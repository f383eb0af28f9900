"""The answers of chat models, where LangChain has them."""

from plait.chat_models.results import ChatGeneration, ChatGenerationChunk, add_up


def merge_chat_generation_chunks(chunks: list[ChatGenerationChunk]) -> ChatGenerationChunk | None:
    """The sum of the chunks of one stream; None if there are none."""
    return add_up(chunks) if chunks else None


__all__ = ["ChatGeneration", "ChatGenerationChunk", "merge_chat_generation_chunks"]
