"""`ChatResult`, where LangChain has it."""

from plait.chat_models.results import ChatResult

__all__ = ["ChatResult"]
