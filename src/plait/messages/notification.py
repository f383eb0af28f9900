"""Marks on human messages that no person typed: who added them, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from plait.messages.content import NotificationMetadata


def add_notification_metadata(
    message: Any, *, source: str, data: dict[str, Any] | None = None
) -> Any:
    """A copy of a message that says which feature added it.

    The mark is for programs to read; anyone who can send a message can set it, so trust nothing
    because of it.

    >>> from plait.messages import HumanMessage
    >>> marked = add_notification_metadata(HumanMessage("Task 4 is done."), source="tasks")
    >>> get_notification_metadata(marked)
    {'source': 'tasks'}
    """
    kept = {k: v for k, v in message.additional_kwargs.items() if k not in ("lc_source", "lc_data")}
    kept["lc_source"] = source
    if data is not None:
        kept["lc_data"] = data.copy()
    return message.model_copy(update={"additional_kwargs": kept})


def get_notification_metadata(message: Any) -> NotificationMetadata | None:
    """Who added a message; None if it carries no mark."""
    source = message.additional_kwargs.get("lc_source")
    if not isinstance(source, str):
        return None
    data = message.additional_kwargs.get("lc_data")
    if isinstance(data, dict):
        return {"source": source, "data": cast("dict[str, Any]", data).copy()}
    return {"source": source}
