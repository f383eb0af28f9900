"""Counting the tokens of messages roughly, by their characters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from math import ceil
from typing import Any, cast

from plait.messages.ai import AIMessage
from plait.messages.convert import convert_to_messages
from plait.messages.foreign import kind_of
from plait.messages.human import HumanMessage
from plait.messages.tool import ToolMessage

MAX_SCALE = 1.25
CHARS_PER_TOKEN = 4.0
TOKENS_PER_MESSAGE = 3.0
IMAGE_TOKENS = 85
OPENAI_ROLES = {"human": "user", "ai": "assistant"}
OWN_ROLES = {HumanMessage: "user", AIMessage: "assistant", ToolMessage: "tool"}
"""The roles of most messages, by their very class."""


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
    chars_per_token: float = CHARS_PER_TOKEN,
    extra_tokens_per_message: float = TOKENS_PER_MESSAGE,
    count_name: bool = True,
    tokens_per_image: int = IMAGE_TOKENS,
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
        tools: Tools that are sent along, or descriptions of them (dicts).

    >>> count_tokens_approximately([("user", "hello there")])
    7
    """
    total = 0.0
    if tools:
        total += ceil(sum(map(_tool_size, tools)) / chars_per_token)
    measured: float | None = None
    reported = 0
    providers: set[Any] = set()
    for message in convert_to_messages(messages):
        chars, images = message_size(message, tokens_per_image, count_name)
        total += ceil(chars / chars_per_token) + extra_tokens_per_message + images
        if use_usage_metadata_scaling:
            provider = message.response_metadata.get("model_provider")
            if provider and kind_of(message) == "ai":
                providers.add(provider)
            usage = getattr(message, "usage_metadata", None)
            if usage:
                measured, reported = (total, usage["total_tokens"]) if provider else (None, 0)
    if measured and len(providers) == 1:  # tokens of two providers do not compare
        total *= min(MAX_SCALE, max(1.0, reported / measured))
    return ceil(total)


def _tool_size(tool: Any) -> int:
    """The characters of a tool's description."""
    if not isinstance(tool, Mapping):
        # A floor above: whoever has a tool has loaded most of it.
        tool = import_module("plait.utils.function_calling").convert_to_openai_tool(tool)
    return len(json.dumps(tool))


def approximate_size(message: Any) -> float:
    """What `count_tokens_approximately` counts of a message, before it rounds the sum up."""
    chars, images = message_size(message, IMAGE_TOKENS, count_name=True)
    return ceil(chars / CHARS_PER_TOKEN) + TOKENS_PER_MESSAGE + images


def message_size(message: Any, tokens_per_image: int, count_name: bool) -> tuple[int, int]:
    """The characters that count of a message, and the tokens of its images."""
    content = message.content
    role = OWN_ROLES.get(message.__class__)
    if role is not None and content.__class__ is str:
        return len(content) + len(role) + rare_chars(message, count_name), 0
    chars, images = (
        (len(content), 0) if isinstance(content, str) else blocks_size(content, tokens_per_image)
    )
    kind = kind_of(message)
    if kind == "ai" and isinstance(content, str) and message.tool_calls:
        chars += len(repr(message.tool_calls))
    if kind == "tool":
        chars += len(message.tool_call_id)
    chars += len(role_of(message))
    if message.name and count_name:
        chars += len(message.name)
    return chars, images


def rare_chars(message: Any, count_name: bool) -> int:
    """The characters of what few messages have, for a message of one of the `OWN_ROLES`.

    It looks where messages keep it: to ask for the calls of a message would give it an empty list.
    """
    rare = message.__plait_rare__
    if not rare:
        return 0
    chars = 0
    if count_name and (name := rare.get("name")):
        chars += len(name)
    if calls := rare.get("tool_calls"):
        chars += len(repr(calls))
    if call_id := rare.get("tool_call_id"):
        chars += len(call_id)
    return chars


def blocks_size(blocks: Any, tokens_per_image: int) -> tuple[int, int]:
    """`message_size` of a content that is a list."""
    chars = images = 0
    for block in blocks:
        if isinstance(block, str):
            chars += len(block)
        elif block.get("type") in ("image", "image_url"):
            images += tokens_per_image
        elif block.get("type") == "text":
            chars += len(block.get("text", ""))
        else:
            chars += len(repr(block))
    return chars, images
