"""Anthropic's models: `anthropic:<model>`. `wire.py` is the wire, `model.py` the chat model."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.chat_models.anthropic.model import ChatAnthropic

__getattr__ = lazily(__name__, {"ChatAnthropic": "model"})

__all__ = ["ChatAnthropic"]
