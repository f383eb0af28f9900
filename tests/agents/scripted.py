"""What scripted models say in these tests: messages that call tools."""

from typing import Any

from plait.messages import AIMessage

THREAD: Any = {"configurable": {"thread_id": "1"}}


def call(name: str, id: str = "1", **args: Any) -> Any:
    """A tool call."""
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def calls(*made: Any) -> AIMessage:
    """A message that makes tool calls."""
    return AIMessage("", tool_calls=list(made))
