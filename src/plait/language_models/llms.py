"""Models of texts to derive from."""

from plait.chat_models.llms import LLM, BaseLLM
from plait.language_models.base import BaseLanguageModel

__all__ = ["LLM", "BaseLLM", "BaseLanguageModel"]
