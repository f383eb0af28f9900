"""`LLMResult`, where LangChain has it."""

from plait.chat_models.results import LLMResult

__all__ = ["LLMResult"]
