"""Which messages to keep: filtering them, and merging runs of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from plait.messages.base import BaseMessage, restore
from plait.messages.convert import ROLES, convert_to_messages, message_chunk_to_message
from plait.messages.errors import InvalidMessageError
from plait.messages.foreign import (
    is_chunk,
    is_chunk_class,
    is_foreign,
    kind_of,
    kind_of_class,
    type_test,
)
from plait.messages.later import later
from plait.messages.schema import BY_TYPE, from_fields


def filter_messages(
    messages: Any = None,
    *,
    include_names: Sequence[str] | None = None,
    exclude_names: Sequence[str] | None = None,
    include_types: Sequence[str | type[Any]] | None = None,
    exclude_types: Sequence[str | type[Any]] | None = None,
    include_ids: Sequence[str] | None = None,
    exclude_ids: Sequence[str] | None = None,
    exclude_tool_calls: Sequence[str] | bool | None = None,
) -> Any:
    """Messages that meet one of the `include_*` conditions (if any) and none of the `exclude_*`.

    Args:
        messages: Message-like values; without them a Runnable is returned, for a chain.
        exclude_tool_calls: True drops all tool calls and results; ids drop those calls and their
            results, and a message whose calls are all dropped.
    Returns:
        The messages that stay. A message that loses some calls is a copy.

    >>> [m.text for m in filter_messages(["a", ("ai", "b")], include_types=["ai"])]
    ['b']
    """
    options = {k: v for k, v in locals().items() if k != "messages"}
    if messages is None:
        return later(filter_messages, options)
    includes = any(x for x in (include_names, include_types, include_ids))
    names, not_names, ids, not_ids, calls = map(
        _looked_up, (include_names, exclude_names, include_ids, exclude_ids, exclude_tool_calls)
    )
    included = type_test(include_types) if include_types else None
    excluded = type_test(exclude_types) if exclude_types else None
    kept: list[Any] = []
    for message in convert_to_messages(messages):
        if (
            (not_names and message.name in not_names)
            or (excluded and excluded(message))
            or (not_ids and message.id in not_ids)
        ):
            continue
        stays = without_calls(message, calls)
        if stays is not None and (
            not includes
            or (names and message.name in names)
            or (included and included(message))
            or (ids and message.id in ids)
        ):
            kept.append(stays)
    return kept


def _looked_up(wanted: Any) -> Any:
    """What many messages are compared with: to search a list takes as long as the list is. A text
    is one name or id."""
    if wanted and isinstance(wanted, str):
        return frozenset((wanted,))
    if wanted.__class__ not in (list, tuple) or not {str}.issuperset(map(type, wanted)):
        return wanted
    return frozenset(wanted)


def without_calls(message: Any, excluded: Any) -> Any:
    """The message without the excluded tool calls; None if nothing of it stays."""
    if not excluded:
        return message
    kind = kind_of(message)
    if kind == "tool":
        gone = excluded is True or message.tool_call_id in excluded
        return None if gone else message
    if kind != "ai" or not message.tool_calls:
        return message
    if excluded is True:
        return None
    ids = frozenset(excluded)
    calls = [c for c in message.tool_calls if c["id"] not in ids]
    if not calls:
        return None
    if len(calls) == len(message.tool_calls):
        return message
    update: dict[str, Any] = {"tool_calls": calls}
    if isinstance(message.content, list):
        update["content"] = [
            b
            for b in cast("list[Any]", message.content)
            if isinstance(b, str) or b.get("type") != "tool_use" or b.get("id") not in ids
        ]
    return message.model_copy(update=update)


def merge_message_runs(messages: Any = None, *, chunk_separator: str = "\n") -> Any:
    """Consecutive messages of one class as one; tool messages are never merged.

    Args:
        messages: Message-like values; without them a Runnable is returned, for a chain.
        chunk_separator: What stands between two texts.
    Returns:
        New messages for runs; the given ones otherwise. Nothing given is changed.

    >>> [m.text for m in merge_message_runs([("user", "a"), ("user", "b")], chunk_separator=" ")]
    ['a b']
    """
    if messages is None:
        return later(merge_message_runs, {"chunk_separator": chunk_separator})
    merged: list[Any] = []
    last: type[Any] | None = None
    for message in convert_to_messages(messages):
        cls = message.__class__
        if last is not None and continues(last, cls):
            merged[-1] = join(merged[-1], message, chunk_separator)
            last = merged[-1].__class__
        else:
            merged.append(message)
            last = cls
    return merged


@lru_cache(maxsize=1024)
def continues(last: type[Any], cls: type[Any]) -> bool:
    """Whether a message of the class `cls` continues a run that ends with one of `last`."""
    kind = kind_of_class(cls)
    return kind != "tool" and (
        issubclass(cls, last) or (kind_of_class(last) == kind and not is_chunk_class(last))
    )


def join(last: Any, message: Any, separator: str) -> Any:
    """Two messages of one class as one."""
    left, right = as_chunk(last), as_chunk(message)
    texts = isinstance(left.content, str) and isinstance(right.content, str)
    if texts and left.content and right.content:
        left.content += separator
    right.response_metadata = {}  # it tells of one answer: the first's stays
    return message_chunk_to_message(left + right)


def as_chunk(message: Any) -> Any:
    """A chunk with what the message says (plait's own, also for a foreign message)."""
    if is_foreign(message):
        message = from_fields(BaseMessage, message.model_dump())
    if is_chunk(message):
        return message.model_copy()
    kind = kind_of(message)
    cls = BY_TYPE.get(f"{ROLES[kind].__name__}Chunk") if kind in ROLES else None
    if kind == "chat":
        cls = BY_TYPE["ChatMessageChunk"]
    if cls is None:
        raise InvalidMessageError(
            f"Messages of class {type(message).__name__} cannot be merged. Filter them out first."
        )
    state = message.__plait_state__()
    made: Any = restore(cls, state)
    return made.init_tool_calls() if kind == "ai" else made
