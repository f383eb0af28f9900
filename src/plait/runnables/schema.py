"""The types of what `astream_events` yields, where LangChain has them."""

from typing import Any

from typing_extensions import TypedDict

from plait.runnables.event_stream import StreamEvent


class EventData(TypedDict, total=False):
    """What `event["data"]` may hold."""

    input: Any
    """What the run was given; of a stream it may be known only at the end."""
    error: BaseException
    """Why a tool failed."""
    output: Any
    """What the run gave, at its end."""
    chunk: Any
    """A piece of it, while it streams."""
    tool_call_id: str | None
    """The call that a tool answers."""


StandardStreamEvent = CustomStreamEvent = StreamEvent
"""Events of runs, and those that user code dispatches, have the same keys."""

__all__ = ["CustomStreamEvent", "EventData", "StandardStreamEvent", "StreamEvent"]
