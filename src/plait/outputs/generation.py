"""The answers of text models, where LangChain has them."""

from plait.chat_models.results import Generation, GenerationChunk

__all__ = ["Generation", "GenerationChunk"]
