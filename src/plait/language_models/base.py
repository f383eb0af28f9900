"""What all models of text share, and what goes into one and comes out."""

from collections.abc import Sequence
from typing import TypeAlias

from plait.chat_models.language import BaseLanguageModel, LanguageModelLike
from plait.messages import BaseMessage, MessageLikeRepresentation
from plait.prompt_values import PromptValue

LanguageModelInput: TypeAlias = PromptValue | str | Sequence[MessageLikeRepresentation]
"""What a model may be invoked with."""
LanguageModelOutput: TypeAlias = BaseMessage | str
"""What a chat model answers, or a model of texts."""

__all__ = ["BaseLanguageModel", "LanguageModelInput", "LanguageModelLike", "LanguageModelOutput"]
