"""Chat models of other libraries as plait's: LangChain's chat models, Haystack's chat generators.

A guest keeps its own settings and clients. What goes in and out is converted, and plait's handlers
hear of its runs and tokens as of any model's. Nothing of theirs is imported before it is there.
"""

from __future__ import annotations

import sys
from typing import Any

from plait.chat_models.base import BaseChatModel
from plait.errors import InvalidInputError


def as_chat_model(model: Any) -> Any:
    """Whatever can chat, as a chat model of plait's.

    Args:
        model: A chat model of plait's (as it is), "provider:name", a chat model of LangChain's, or
            a chat generator of Haystack's.

    Raises:
        InvalidInputError: It is none of these.

    >>> as_chat_model("openai:gpt-5")
    ChatOpenAI(model='gpt-5')
    """
    if isinstance(model, BaseChatModel):
        return model
    if isinstance(model, str):
        from plait.chat_models.configurable import init_chat_model  # only names need it

        return init_chat_model(model)
    if is_langchain_model(model):
        from plait.chat_models.langchain import LangChainChatModel  # only where one is there

        return LangChainChatModel(model)
    if is_haystack_generator(model):
        from plait.chat_models.haystack import HaystackChatModel  # only where one is there

        return HaystackChatModel(model)
    if isinstance(model, type):
        raise InvalidInputError(
            f"No chat model: {model.__name__} is a class. Make one: {model.__name__}(...)."
        )
    if callable(getattr(model, "invoke", None)) and callable(getattr(model, "bind_tools", None)):
        return model  # a model with a config, or one chosen by it
    raise InvalidInputError(
        f"No chat model: {model!r:.200}. Give one of plait's, 'provider:name', one of LangChain's, "
        "or a chat generator of Haystack's."
    )


def is_langchain_model(value: Any) -> bool:
    """Whether a value is a chat model of langchain_core (False while that is not loaded), also as a
    step of a chain."""
    module = sys.modules.get("langchain_core.language_models.chat_models")
    return module is not None and isinstance(getattr(value, "guest", value), module.BaseChatModel)


def is_haystack_generator(value: Any) -> bool:
    """Whether a value is a chat generator of Haystack's: a component that takes messages."""
    if "haystack" not in sys.modules or not hasattr(value, "__haystack_input__"):
        return False
    takes = value.__haystack_input__
    return callable(getattr(value, "run", None)) and hasattr(takes, "messages")


def is_overflow(error: BaseException) -> bool:
    """Whether an error, plait's or langchain_core's, says that the messages do not fit into the
    model's window.

    >>> from plait.errors import ContextOverflowError
    >>> is_overflow(ContextOverflowError("9 > 8")), is_overflow(ValueError("9 > 8"))
    (True, False)
    """
    return any(kind.__name__ == "ContextOverflowError" for kind in type(error).__mro__)


__all__ = ["as_chat_model", "is_haystack_generator", "is_langchain_model", "is_overflow"]
