"""Counting the tokens of messages roughly, by their characters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil
from typing import Any, cast

from plait.messages.convert import convert_to_messages
from plait.messages.foreign import kind_of

MAX_SCALE = 1.25
OPENAI_ROLES = {"human": "user", "ai": "assistant"}


def role_of(message: Any) -> str:
    """The role that OpenAI's API knows for a message."""
    kind = kind_of(message)
    if kind == "chat":
        return cast("str", message.role)
    if kind == "system":
        return cast("str", message.additional_kwargs.get("__openai_role__", "system"))
    if kind is None or kind == "remove":
        raise ValueError(
            f"Unknown BaseMessage type {type(message)}. It has no role in OpenAI's API."
        )
    return OPENAI_ROLES.get(kind, kind)


def count_tokens_approximately(
    messages: Any,
    *,
    chars_per_token: float = 4.0,
    extra_tokens_per_message: float = 3.0,
    count_name: bool = True,
    tokens_per_image: int = 85,
    use_usage_metadata_scaling: bool = False,
    tools: Sequence[Any] | None = None,
) -> int:
    """About how many tokens the messages cost; fast, and no model is asked.

    Args:
        chars_per_token: Characters that make a token, on average.
        extra_tokens_per_message: Tokens that each message costs beside its text.
        count_name: Whether names count.
        tokens_per_image: Tokens of an image, whatever its size.
        use_usage_metadata_scaling: Scale up by what the last model call said it really cost.
        tools: Tool descriptions (dicts) that are sent along.

    >>> count_tokens_approximately([("user", "hello there")])
    7
    """
    total = 0.0
    if tools:
        total += ceil(sum(len(json.dumps(tool)) for tool in tools) / chars_per_token)
    measured: float | None = None
    reported = 0
    converted = convert_to_messages(messages)
    for message in converted:
        chars, images = message_size(message, tokens_per_image, count_name)
        total += ceil(chars / chars_per_token) + extra_tokens_per_message + images
        usage = getattr(message, "usage_metadata", None)
        if use_usage_metadata_scaling and usage and message.response_metadata.get("model_provider"):
            measured, reported = total, usage["total_tokens"]
    if measured:
        total *= min(MAX_SCALE, max(1.0, reported / measured))
    return ceil(total)


def message_size(message: Any, tokens_per_image: int, count_name: bool) -> tuple[int, int]:
    """The characters that count of a message, and the tokens of its images."""
    chars = images = 0
    content = message.content
    if isinstance(content, str):
        chars += len(content)
    else:
        for block in content:
            if isinstance(block, str):
                chars += len(block)
            elif block.get("type") in ("image", "image_url"):
                images += tokens_per_image
            elif block.get("type") == "text":
                chars += len(block.get("text", ""))
            else:
                chars += len(repr(block))
    kind = kind_of(message)
    if kind == "ai" and isinstance(content, str) and message.tool_calls:
        chars += len(repr(message.tool_calls))
    if kind == "tool":
        chars += len(message.tool_call_id)
    chars += len(role_of(message))
    if message.name and count_name:
        chars += len(message.name)
    return chars, images
