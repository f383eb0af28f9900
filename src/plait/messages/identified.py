"""Ids for messages on their way into a state whose reducer is the program's own.

`add_messages` gives ids to what it merges. A reducer of a `DeltaChannel` may tell messages by
their ids, too, and is not to find them without.
"""

from __future__ import annotations

from typing import Any, cast

from plait.common.ids import new_id
from plait.messages.base import give_id
from plait.messages.convert import ROLES, convert_to_message
from plait.messages.errors import InvalidMessageError, MessageCoercionError
from plait.messages.foreign import is_message


def identified(update: Any) -> Any:
    """An update whose messages have ids: what stands alone, or in a list.

    A message keeps its identity, a dict that stands for one is copied: in a list it becomes a
    message, alone a dict with an id. Anything else stays as it is.
    """
    if update.__class__ is list:
        return [_message(item) for item in cast("list[Any]", update)]
    if _stands_for_message(update):
        return update if update.get("id") else {**update, "id": new_id()}
    return with_id(update)


def with_ids(value: Any) -> Any:
    """A value whose messages have ids: it, or what is in it if it is a list or tuple."""
    if value.__class__ in (list, tuple):
        for item in cast("list[Any]", value):
            with_id(item)
    return with_id(value)


def with_id(value: Any) -> Any:
    """A message, with a new id if it has none; anything else as it is."""
    if is_message(value) and value.id is None:
        give_id(value, new_id())
    return value


def _message(item: Any) -> Any:
    if _stands_for_message(item):
        given = item if item.get("id") else {**item, "id": None}
        try:
            return with_id(convert_to_message(given))
        except (MessageCoercionError, InvalidMessageError):  # the reducer may know what it is
            return item
    return with_id(item)


def _stands_for_message(value: Any) -> bool:
    if value.__class__ is not dict:
        return False
    role = value.get("role") or value.get("type")
    return isinstance(role, str) and role in ROLES
