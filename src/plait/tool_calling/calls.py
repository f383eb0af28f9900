"""The tool calls in a message: whether there are any, and which."""

from typing import Any, Literal, overload

from plait.errors import ToolInputError


def has_tool_calling(message: Any) -> bool:
    """Whether a message of a model calls tools.

    Args:
        message: Any message.

    >>> from plait.messages import AIMessage, HumanMessage
    >>> call = {"name": "add", "args": {"a": 1}, "id": "1"}
    >>> has_tool_calling(AIMessage("", tool_calls=[call])), has_tool_calling(HumanMessage("hi"))
    (True, False)
    """
    return getattr(message, "type", None) in ("ai", "AIMessageChunk") and bool(message.tool_calls)


@overload
def parse_tool_calling(
    message: Any, first_tool_call_only: Literal[True]
) -> tuple[str, dict[str, Any]]: ...
@overload
def parse_tool_calling(
    message: Any, first_tool_call_only: Literal[False] = False
) -> list[tuple[str, dict[str, Any]]]: ...
def parse_tool_calling(
    message: Any, first_tool_call_only: bool = False
) -> tuple[str, dict[str, Any]] | list[tuple[str, dict[str, Any]]]:
    """The tools that a message calls, each as its name and its arguments.

    Args:
        message: A message of a model.
        first_tool_call_only: Only the first call, not in a list.

    Raises:
        ToolInputError: It calls none.

    >>> from plait.messages import AIMessage
    >>> message = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1"}])
    >>> parse_tool_calling(message), parse_tool_calling(message, first_tool_call_only=True)
    ([('add', {'a': 1})], ('add', {'a': 1}))
    """
    calls = [(call["name"], call["args"]) for call in getattr(message, "tool_calls", None) or ()]
    if not calls:
        raise ToolInputError(
            f"No tool call in this message: {message!r}. Ask has_tool_calling(message) first."
        )
    return calls[0] if first_tool_call_only else calls


__all__ = ["has_tool_calling", "parse_tool_calling"]
