"""Messages of langchain_core at the boundary: recognised without importing their package.

They are kept as they are. Only where plait must change or merge one is it rebuilt as plait's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from plait.messages.base import BaseMessage, BaseMessageChunk

# The kind of a message by the name of its nearest built-in class, plait's or foreign.
KINDS = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
    "RemoveMessage": "remove",
}


@lru_cache(maxsize=1024)
def is_foreign_class(cls: type[Any]) -> bool:
    """Whether a class is one of langchain_core's messages (which is then loaded, so: for good)."""
    module = sys.modules.get("langchain_core.messages.base")
    return module is not None and issubclass(cls, module.BaseMessage)


@lru_cache(maxsize=1024)
def is_chunk_class(cls: type[Any]) -> bool:
    """Whether a class is one of the chunks of messages, plait's or langchain_core's."""
    if issubclass(cls, BaseMessage):
        return issubclass(cls, BaseMessageChunk)
    return is_foreign_class(cls) and any(c.__name__ == "BaseMessageChunk" for c in cls.__mro__)


def is_foreign(value: Any) -> bool:
    """Whether a value is a message of langchain_core (False while that is not loaded)."""
    return is_foreign_class(value.__class__)


def is_message(value: Any) -> bool:
    """Whether a value is a message, plait's own or langchain_core's."""
    return isinstance(value, BaseMessage) or is_foreign_class(value.__class__)


def is_chunk(value: Any) -> bool:
    """Whether a value is a chunk of a message, plait's own or langchain_core's."""
    return is_chunk_class(value.__class__)


def base_names(value: Any) -> frozenset[str]:
    """The class names that a message goes by."""
    return names_of_class(cast("type[Any]", type(value)))


@lru_cache(maxsize=1024)
def names_of_class(cls: type[Any]) -> frozenset[str]:
    """`base_names` of the messages of a class."""
    return frozenset(c.__name__ for c in cls.__mro__)


def kind_of(message: Any) -> str | None:
    """ "human", "ai", "system", "tool", "function", "chat" or "remove"; None for a bare message."""
    return kind_of_class(message.__class__)


@lru_cache(maxsize=1024)
def kind_of_class(cls: type[Any]) -> str | None:
    """`kind_of` the messages of a class."""
    for base in cls.__mro__:
        kind = KINDS.get(base.__name__)
        if kind is not None:
            return kind
    return None


def type_test(types: Any) -> Callable[[Any], bool]:
    """Whether a message is of one of the types, each the name of a `type` or a message class."""
    wanted = cast("list[Any]", types) if isinstance(types, (list, tuple, set)) else [types]
    if all(isinstance(t, str) for t in wanted):
        names = frozenset(wanted)
        return lambda message: message.type in names

    def is_one(message: Any) -> bool:
        bases = base_names(message)
        return any(
            message.type == t
            if isinstance(t, str)
            else isinstance(message, t) or t.__name__ in bases
            for t in wanted
        )

    return is_one
