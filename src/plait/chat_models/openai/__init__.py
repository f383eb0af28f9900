"""OpenAI's models, and all that servers which speak its protocol serve: `openai:<model>`.

`chat.py` and `responses.py` are the two wires, as pure functions; `model.py` is the chat model.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.chat_models.openai.model import ChatOpenAI

__getattr__ = lazily(__name__, {"ChatOpenAI": "model"})

__all__ = ["ChatOpenAI"]
