"""`ToolCallTransformer`: the tool calls of a run as a projection of its streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from plait.stream.base import ProtocolEvent, Scope, StreamTransformer
from plait.stream.stream_channel import StreamChannel


class ToolCallStream:
    """One tool call while it runs.

    Args:
        tool_call_id: the id of the call.
        tool_name: the name of the tool.
        input: its arguments.
        deltas: what it gives while it runs.
    """

    def __init__(
        self, tool_call_id: str, tool_name: str | None, input: Any, deltas: StreamChannel[Any]
    ) -> None:
        self.tool_call_id = tool_call_id
        self.tool_name = tool_name
        self.input = input
        self.output: Any = None
        """What the tool returned, once it has: its message's content."""
        self.error: str | None = None
        """What it failed with, in words."""
        self.completed = False
        """Whether it has ended, in either way."""
        self.deltas = deltas

    @property
    def output_deltas(self) -> Iterator[Any] | AsyncIterator[Any]:
        """What the tool gives while it runs; read it before the call has ended."""
        return self.deltas  # pyright: ignore[reportReturnType]

    def end(self, output: Any = None, error: str | None = None) -> None:
        """The call has ended."""
        self.output, self.error, self.completed = output, error, True
        self.deltas.close()


class ToolCallTransformer(StreamTransformer):
    """`run.tool_calls`: a `ToolCallStream` for each tool call.

    >>> from plait.graph import START, StateGraph
    >>> from plait.tools import tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add."
    ...     return a + b
    >>> builder = StateGraph(dict).add_node("sum", lambda s: {"n": add.invoke(s)})
    >>> app = builder.add_edge(START, "sum").compile(transformers=[ToolCallTransformer])
    >>> run = app.stream_events({"a": 1, "b": 2}, version="v3")
    >>> [(call.tool_name, call.input) for call in run.tool_calls]
    [('add', {'a': 1, 'b': 2})]
    """

    required_stream_modes = ("tools",)
    _native = True

    def __init__(self, scope: Scope = ()) -> None:
        super().__init__(scope)
        self._channel: StreamChannel[ToolCallStream] = StreamChannel()
        self._running: dict[str, ToolCallStream] = {}

    def init(self) -> dict[str, Any]:
        """The channel of calls."""
        return {"tool_calls": self._channel}

    def process(self, event: ProtocolEvent) -> bool:
        """Feed the stream of the call that an event belongs to."""
        params = event["params"]
        if event["method"] != "tools" or tuple(params["namespace"]) != self.scope:
            return True
        data = params["data"]
        call_id, kind = data["tool_call_id"], data["event"]
        if kind == "tool-started":
            self._start(call_id, data)
        elif call_id in self._running:
            if kind == "tool-output-delta":
                self._running[call_id].deltas.push(data["delta"])
            elif kind == "tool-finished":
                output = data["output"]
                self._running.pop(call_id).end(getattr(output, "content", output))
            elif kind == "tool-error":
                self._running.pop(call_id).end(error=data["message"])
        return True

    def _start(self, call_id: str, data: dict[str, Any]) -> None:
        deltas: StreamChannel[Any] = StreamChannel()
        deltas.bind(self._channel.lane)
        call = ToolCallStream(call_id, data.get("tool_name"), data.get("input"), deltas)
        self._running[call_id] = call
        self._channel.push(call)

    def finalize(self) -> None:
        """Calls without an end, such as those that ask, give nothing more."""
        for call in self._running.values():
            call.end()
        self._running.clear()

    def fail(self, err: BaseException) -> None:
        """Calls that run fail with the run."""
        for call in self._running.values():
            call.error, call.completed = str(err), True
            call.deltas.fail(err)
        self._running.clear()


__all__ = ["ToolCallStream", "ToolCallTransformer"]
