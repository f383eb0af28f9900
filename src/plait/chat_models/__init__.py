"""Chat models: the base to derive one from, its result types, and fakes for tests.

Names load on first use; the fakes are in `plait.chat_models.fake`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.chat_models.base import BaseChatModel
    from plait.chat_models.results import (
        ChatGeneration,
        ChatGenerationChunk,
        ChatResult,
        Generation,
        LLMResult,
    )

_HOMES = {
    "BaseChatModel": "base",
    "ChatGeneration": "results",
    "ChatGenerationChunk": "results",
    "ChatResult": "results",
    "Generation": "results",
    "LLMResult": "results",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


__all__ = [
    "BaseChatModel",
    "ChatGeneration",
    "ChatGenerationChunk",
    "ChatResult",
    "Generation",
    "LLMResult",
]
