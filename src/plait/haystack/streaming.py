"""`StreamingChunk`: a piece of an answer as it comes, and the callbacks that hear it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from inspect import iscoroutinefunction
from typing import Any, Literal, TypeAlias

from plait.errors import InvalidValueError
from plait.haystack.errors import reading_part
from plait.haystack.messages import ReasoningContent, ToolCallResult

FinishReason: TypeAlias = Literal[
    "stop", "length", "tool_calls", "content_filter", "tool_call_results"
]


@dataclass
class ToolCallDelta:
    """A piece of a tool call.

    Args:
        index: Which call of the message.
        tool_name: The tool, once known.
        arguments: A piece of the arguments' JSON.
        id: The call's id, once known.
    """

    index: int
    tool_name: str | None = None
    arguments: str | None = None
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolCallDelta:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            return cls(**data)


@dataclass
class ComponentInfo:
    """Which component says something.

    Args:
        type: Its class.
        name: Its name in a pipeline.
    """

    type: str
    name: str | None = None

    @classmethod
    def from_component(cls, component: Any) -> ComponentInfo:
        """What is known of a component."""
        from plait.haystack.registry import name_of  # it knows the classes that this one is part of

        return cls(name_of(type(component)), getattr(component, "__component_name__", None))

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ComponentInfo:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            return cls(**data)


@dataclass
class StreamingChunk:
    """A piece of an answer: of its text, its thought or its tool calls; or a tool's result.

    Args:
        content: A piece of text.
        meta: What else is known.
        component_info: Who says it.
        index: Which block of the content it belongs to.
        tool_calls: Pieces of tool calls.
        tool_call_result: What came of a tool call.
        start: Whether its block begins here.
        finish_reason: Why the answer ends here.
        reasoning: A piece of the thought.

    Raises:
        InvalidValueError: It holds more than one kind, or a block without its index.
    """

    content: str
    meta: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)
    component_info: ComponentInfo | None = None
    index: int | None = None
    tool_calls: list[ToolCallDelta] | None = None
    tool_call_result: ToolCallResult | None = None
    start: bool = False
    finish_reason: FinishReason | None = None
    reasoning: ReasoningContent | None = None

    def __post_init__(self) -> None:
        blocks = (self.tool_calls, self.tool_call_result, self.reasoning)
        if sum(map(bool, (self.content, *blocks))) > 1:
            raise InvalidValueError(
                "A StreamingChunk holds one of content, tool_calls, tool_call_result and "
                f"reasoning: {self!r:.300}"
            )
        if any(blocks) and self.index is None:
            raise InvalidValueError(f"A block of a StreamingChunk needs an index: {self!r:.300}")

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "content": self.content,
            "meta": self.meta,
            "component_info": _plain(self.component_info),
            "index": self.index,
            "tool_calls": [call.to_dict() for call in self.tool_calls] if self.tool_calls else None,
            "tool_call_result": _plain(self.tool_call_result),
            "start": self.start,
            "finish_reason": self.finish_reason,
            "reasoning": _plain(self.reasoning),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StreamingChunk:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            info, result = data.get("component_info"), data.get("tool_call_result")
            calls, thought = data.get("tool_calls"), data.get("reasoning")
            return cls(
                content=data["content"],
                meta=data.get("meta", {}),
                component_info=ComponentInfo.from_dict(info) if info else None,
                index=data.get("index"),
                tool_calls=[ToolCallDelta.from_dict(call) for call in calls] if calls else None,
                tool_call_result=ToolCallResult.from_dict(result) if result else None,
                start=data.get("start", False),
                finish_reason=data.get("finish_reason"),
                reasoning=ReasoningContent.from_dict(thought) if thought else None,
            )


def _plain(part: Any) -> Any:
    return part.to_dict() if part else None


SyncStreamingCallbackT: TypeAlias = Callable[[StreamingChunk], None]
AsyncStreamingCallbackT: TypeAlias = Callable[[StreamingChunk], Awaitable[None]]
StreamingCallbackT: TypeAlias = SyncStreamingCallbackT | AsyncStreamingCallbackT


def select_streaming_callback(
    init_callback: StreamingCallbackT | None,
    runtime_callback: StreamingCallbackT | None,
    requires_async: bool,
) -> StreamingCallbackT | None:
    """The callback of a call, else that of its component.

    Args:
        init_callback: The component's.
        runtime_callback: The call's.
        requires_async: Whether the call is async, so that the callback is a coroutine function.

    Raises:
        InvalidValueError: A callback is async in a sync call, or the other way round.
    """
    for kind, callback in (("init", init_callback), ("runtime", runtime_callback)):
        if callback is None or is_async(callback) == requires_async:
            continue
        needed = "a coroutine function (async def)" if requires_async else "a plain function"
        call = "run_async" if requires_async else "run"
        raise InvalidValueError(f"{call} needs {needed} as the {kind} streaming_callback.")
    return runtime_callback or init_callback


def is_async(callback: Any) -> bool:
    """Whether calling it gives something to await."""
    return iscoroutinefunction(callback) or iscoroutinefunction(
        getattr(callback, "__call__", None)  # noqa: B004 (an object with an async __call__)
    )


def from_a_thread(
    callback: Callable[[StreamingChunk], Coroutine[Any, Any, None]],
    loop: asyncio.AbstractEventLoop,
) -> SyncStreamingCallbackT:
    """An async callback of an event loop, for what runs on another thread and calls it."""

    def hear(chunk: StreamingChunk) -> None:
        asyncio.run_coroutine_threadsafe(callback(chunk), loop).result()

    return hear


def print_streaming_chunk(chunk: StreamingChunk) -> None:
    """A streaming callback that prints: texts, thoughts, tool calls and results, as they come.

    >>> print_streaming_chunk(StreamingChunk("Hi!", index=0, start=True))
    [ASSISTANT]
    Hi!
    """
    if chunk.start and chunk.index and chunk.index > 0:
        _show("\n\n")
    for call in chunk.tool_calls or ():
        if call.tool_name:
            _show(f"[TOOL CALL]\nTool: {call.tool_name} \nArguments: ")
        _show(call.arguments or "")
    if chunk.tool_call_result:
        _show(f"[TOOL RESULT]\n{chunk.tool_call_result.result}")
    if chunk.content:
        _show(("[ASSISTANT]\n" if chunk.start else "") + chunk.content)
    if chunk.reasoning:
        head = "[REASONING]\n" if chunk.start else ""
        _show(head + chunk.reasoning.reasoning_text)
    if chunk.finish_reason is not None:
        _show("\n\n")


def _show(text: str) -> None:
    print(text, flush=True, end="")


__all__ = [
    "AsyncStreamingCallbackT",
    "ComponentInfo",
    "FinishReason",
    "StreamingCallbackT",
    "StreamingChunk",
    "SyncStreamingCallbackT",
    "ToolCallDelta",
    "from_a_thread",
    "is_async",
    "print_streaming_chunk",
    "select_streaming_callback",
]
