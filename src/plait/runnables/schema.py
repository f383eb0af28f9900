"""The events of `astream_events`, where LangChain has them."""

from plait.runnables.event_stream import StreamEvent

__all__ = ["StreamEvent"]
