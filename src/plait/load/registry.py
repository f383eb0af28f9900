"""What may be made from written data: messages, by the ids that the field gives them."""

from typing import Any

_NAMESPACE = ["langchain", "schema", "messages"]


def message_classes() -> dict[tuple[str, ...], Any]:
    """Id to message class."""
    from plait import messages  # the data may hold none

    names = [
        *("AIMessage", "AIMessageChunk", "HumanMessage", "HumanMessageChunk", "SystemMessage"),
        *("SystemMessageChunk", "ToolMessage", "ToolMessageChunk", "ChatMessage"),
        *("ChatMessageChunk", "FunctionMessage", "RemoveMessage"),
    ]
    return {
        (*_NAMESPACE, name): getattr(messages, name) for name in names if hasattr(messages, name)
    }


def id_of_message(thing: Any) -> tuple[list[str], dict[str, Any]] | None:
    """The id and the constructor arguments of a message; None if it is none."""
    from plait.messages import BaseMessage  # the data may hold none

    if not isinstance(thing, BaseMessage):
        return None
    fields = ("content", "additional_kwargs", "response_metadata", "type", "name", "id")
    more = ("tool_calls", "invalid_tool_calls", "usage_metadata", "tool_call_chunks")
    rest = ("tool_call_id", "status", "artifact", "role", "chunk_position")
    kwargs: dict[str, Any] = {}
    for name in (*fields, *more, *rest):
        value = getattr(thing, name, None)
        is_said = name in ("content", "type", "tool_calls", "invalid_tool_calls")
        if value is not None and (value or is_said):
            kwargs[name] = value
    return [*_NAMESPACE, type(thing).__name__], kwargs


def not_implemented(thing: object, its_id: list[str]) -> dict[str, Any]:
    """The written form of what cannot be made again."""
    return {"lc": 1, "type": "not_implemented", "id": its_id, "repr": repr(thing)}
