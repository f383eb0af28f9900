"""Google's models: `google:<model>`. `wire.py` is the wire, `model.py` the chat model."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.chat_models.google.model import ChatGoogle

__getattr__ = lazily(__name__, {"ChatGoogle": "model"})

__all__ = ["ChatGoogle"]
