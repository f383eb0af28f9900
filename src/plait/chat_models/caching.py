"""Which cache a model uses, under which key, and what an answer from it looks like."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plait.chat_models.results import ChatGeneration, ChatResult
from plait.errors import ConfigError
from plait.globals import get_llm_cache
from plait.messages import AIMessage
from plait.tools.shown import copied

if TYPE_CHECKING:
    from plait.caches import BaseCache
    from plait.chat_models.language import BaseLanguageModel


def cache_of(model: BaseLanguageModel) -> BaseCache | None:
    """The cache that a model uses: its own, the program's, or none.

    Raises:
        ConfigError: The model must use the program's, and there is none (a ValueError, too).
    """
    own = model.cache
    if own is None:
        return get_llm_cache()
    if own is False:
        return None
    if own is not True:
        return own
    shared = get_llm_cache()
    if shared is None:
        raise ConfigError(
            f"{type(model).__name__} was told to cache (cache=True), but the program has no cache. "
            "Call plait.globals.set_llm_cache(...) first, or give the model a cache of its own."
        )
    return shared


def prompt_key(messages: Sequence[Any]) -> str:
    """Messages as the text under which their answer is kept; ids do not matter."""
    return json.dumps([_nameless(m) for m in messages], default=repr, sort_keys=True)


def _nameless(message: Any) -> Mapping[str, Any]:
    described = message.to_json()
    kwargs = {k: v for k, v in described["kwargs"].items() if k != "id"}
    return {"id": described["id"][-1:], "kwargs": kwargs}


def known_chat(found: Sequence[Any]) -> ChatResult:
    """A chat answer from a cache: a copy that cost nothing. Texts become messages."""
    return ChatResult([_known(generation) for generation in found])


def to_keep(result: ChatResult) -> list[ChatGeneration]:
    """An answer as a cache keeps it: copies, as callers may change what they were given."""
    return [ChatGeneration(_copy(g.message), copied(g.generation_info)) for g in result.generations]


def _known(generation: Any) -> ChatGeneration:
    kept = getattr(generation, "message", None)
    message: Any = AIMessage(generation.text) if kept is None else _copy(kept)
    if usage := getattr(message, "usage_metadata", None):
        message.usage_metadata = {**usage, "total_cost": 0}
    return ChatGeneration(message, copied(generation.generation_info))


_HELD = (
    "content",
    "additional_kwargs",
    "response_metadata",
    "tool_calls",
    "invalid_tool_calls",
    "usage_metadata",
)
"""The fields of a message that hold lists and dicts."""


def _copy(message: Any) -> Any:
    """A message whose lists and dicts are its own, all the way down."""
    held = {name: copied(value) for name in _HELD if (value := getattr(message, name, None))}
    return message.model_copy(update=held)
