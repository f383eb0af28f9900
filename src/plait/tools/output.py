"""What a tool returned, in the form that its caller gets: as it is, or as a `ToolMessage`."""

import json
from collections.abc import AsyncIterator, Awaitable, Generator
from functools import lru_cache
from typing import Any, cast

from plait.errors import ToolInputError
from plait.messages import ToolMessage
from plait.messages.tool import ToolOutputMixin
from plait.types import Command

BLOCK_TYPES = frozenset(
    (
        "text",
        "image_url",
        "image",
        "json",
        "search_result",
        "custom_tool_call_output",
        "document",
        "file",
    )
)
"""The content blocks that a tool message may hold; other dicts are shown as JSON."""


def split_response(response: Any, response_format: str, name: str) -> tuple[Any, Any]:
    """Content and artifact of what a tool function returned.

    Raises:
        ValueError: An artifact was promised, and it is no pair.
    """
    if response_format != "content_and_artifact":
        return response, None
    pair = cast("tuple[Any, ...]", response)
    if response.__class__ is not tuple or len(pair) != 2:
        raise ValueError(
            f"Tool {name!r} has response_format='content_and_artifact', so it must return a "
            f"tuple (content, artifact). It returned {type(response).__name__}."
        )
    return pair


def as_output(content: Any, artifact: Any, call_id: str | None, name: str, status: str) -> Any:
    """The content itself outside of a tool call, else the message that answers the call.

    What a tool may return instead of a message (a `ToolMessage`, a `Command`, a list of them) is
    handed on as it is.

    Raises:
        ToolInputError: The content still has to be awaited or iterated.
    """
    if call_id is None or is_finished(content):
        return content
    if content.__class__ is not str and not _is_content(content):
        content = _as_text(content, name)
    if artifact is None and status == "success":
        return ToolMessage(content, tool_call_id=call_id, name=name)
    return ToolMessage(
        content, tool_call_id=call_id, name=name, artifact=artifact, status=cast("Any", status)
    )


def is_finished(content: Any) -> bool:
    """Whether a tool's result needs no wrapping."""
    if content.__class__ is list and content:
        return all(_is_output(item.__class__) for item in content)
    return _is_output(content.__class__)


@lru_cache(maxsize=1024)
def _is_output(kind: type) -> bool:
    if issubclass(kind, (ToolOutputMixin, Command)):
        return True
    return any(base.__name__ == "ToolOutputMixin" for base in kind.__mro__)  # langchain_core's


def _is_content(content: Any) -> bool:
    if isinstance(content, str):
        return True
    if not isinstance(content, (list, tuple)):
        return False
    return all(
        isinstance(item, str)
        or (isinstance(item, dict) and cast("dict[Any, Any]", item).get("type") in BLOCK_TYPES)
        for item in cast("list[Any]", content)
    )


def _check_is_value(content: Any, name: str) -> None:
    """Refuse what still has to be awaited or iterated: the model would be told its repr."""
    kind = type(content).__name__
    is_awaited = isinstance(content, Awaitable)
    if is_awaited or isinstance(content, (Generator, AsyncIterator)):
        advice = "Make its function async" if is_awaited else "Return a list"
        raise ToolInputError(
            f"Tool {name!r} returned a {kind}, which the model cannot be told. {advice}."
        )


_encoded = json.JSONEncoder(ensure_ascii=False).encode


def _as_text(content: Any, name: str) -> str:
    if content.__class__ is int:
        return as_text(content)
    try:
        return _encoded(content)
    except (TypeError, ValueError, RecursionError):
        _check_is_value(content, name)
        return as_text(content)


def as_text(value: Any) -> str:
    """`str(value)`; values too deep or too large for it are only named.

    >>> as_text({"a": 1}), as_text(10**5000)
    ("{'a': 1}", '<int that cannot be shown: ValueError>')
    """
    try:
        return str(value)
    except (ValueError, RecursionError) as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"
