"""`ChatModelStream`: one message of a model while it is said, and what can be read of it."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from functools import partial
from typing import Any, Generic, Self, TypeVar, cast

from plait.messages import AIMessage
from plait.stream.stream_channel import Lane

T = TypeVar("T")
Event = dict[str, Any]


class Kept(Generic[T]):
    """Items that come one by one and stay, so that everybody can read them from the start."""

    __slots__ = ("done", "error", "items", "lane")

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.items: list[T] = []
        self.done = False
        self.error: BaseException | None = None

    def each(self) -> Iterator[T]:
        """All items; drives the run for those that are to come."""
        at = 0
        while True:
            if at < len(self.items):
                yield self.items[at]
                at += 1
                continue
            if self._ended():
                return
            if not self.lane.pump() and at == len(self.items):
                self._ended()
                return

    async def aeach(self) -> AsyncIterator[T]:
        """`each` in an event loop."""
        at = 0
        while True:
            if at < len(self.items):
                yield self.items[at]
                at += 1
                continue
            if self._ended():
                return
            more = await self.lane.apump(partial(self._is_past, at))
            if not more and at == len(self.items):
                self._ended()
                return

    def _is_past(self, at: int) -> bool:
        """Whether more items than these have come, or the last one."""
        return len(self.items) > at or self.done

    def _ended(self) -> bool:
        """Whether no more items come.

        Raises:
            BaseException: what the message failed with.
        """
        if self.error is not None:
            raise self.error
        return self.done


class TextProjection:
    """A text in pieces: iterate over them, or take the whole by `str()`.

    It is read from the start each time, and drives the run as far as it has to.
    """

    __slots__ = ("_kept",)

    def __init__(self, kept: Kept[str]) -> None:
        self._kept = kept

    def __iter__(self) -> Iterator[str]:
        return self._kept.each()

    def __str__(self) -> str:
        return "".join(self._kept.each())

    def get(self) -> str:
        """The whole text."""
        return str(self)

    def __bool__(self) -> bool:
        return bool(str(self))

    def __repr__(self) -> str:
        return repr(str(self))


class ToolCallsProjection:
    """Tool calls: iterate over the pieces of their arguments, or `get()` the calls."""

    __slots__ = ("_calls", "_kept")

    def __init__(self, kept: Kept[Event], calls: Callable[[], list[Any]]) -> None:
        self._kept = kept
        self._calls = calls

    def __iter__(self) -> Iterator[Event]:
        return self._kept.each()

    def get(self) -> list[Any]:
        """The calls, once they are complete."""
        for _ in self._kept.each():
            pass
        return self._calls()


class AsyncTextProjection:
    """A text in pieces: `async for` over them, or `await` the whole."""

    __slots__ = ("_kept",)

    def __init__(self, kept: Kept[str]) -> None:
        self._kept = kept

    def __aiter__(self) -> AsyncIterator[str]:
        return self._kept.aeach()

    def __await__(self) -> Generator[Any, None, str]:
        return self._whole().__await__()

    async def _whole(self) -> str:
        return "".join([piece async for piece in self._kept.aeach()])


class AsyncToolCallsProjection:
    """Tool calls: `async for` over the pieces of their arguments, or `await` the calls."""

    __slots__ = ("_calls", "_kept")

    def __init__(self, kept: Kept[Event], calls: Callable[[], list[Any]]) -> None:
        self._kept = kept
        self._calls = calls

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._kept.aeach()

    def __await__(self) -> Generator[Any, None, list[Any]]:
        return self._whole().__await__()

    async def _whole(self) -> list[Any]:
        async for _ in self._kept.aeach():
            pass
        return self._calls()


class _ModelStream:
    """What both kinds of streams keep of a message.

    Args:
        namespace: of the graph whose node asked the model.
        node: that node.
        message_id: the id of the message.
        lane: drives the run.
    """

    def __init__(
        self,
        *,
        namespace: list[str] | None = None,
        node: str | None = None,
        message_id: str | None = None,
        lane: Lane,
    ) -> None:
        self.namespace = namespace or []
        self.node = node
        self.message_id = message_id
        self._events = Kept[Event](lane)
        self._text = Kept[str](lane)
        self._reasoning = Kept[str](lane)
        self._calls = Kept[Event](lane)
        self._begun: dict[int, Event] = {}
        self._blocks: dict[int, Event] = {}
        self._message: AIMessage | None = None

    @property
    def done(self) -> bool:
        """Whether the message is complete, or has failed."""
        return self._events.done

    @property
    def output_message(self) -> AIMessage | None:
        """The message, if it is complete."""
        return self._message

    # --- for whoever feeds it --------------------------------------------------------------------

    def dispatch(self, event: Event) -> None:
        """Take an event of the message."""
        kind = event["event"]
        if kind == "message-start":
            self.message_id = event.get("id") or self.message_id
        elif kind == "content-block-start":
            self._begun[event["index"]] = event["content"]
        elif kind == "content-block-delta":
            self._delta(event["index"], event["delta"])
        elif kind == "content-block-finish":
            self._blocks[event["index"]] = event["content"]
            self._complete(event["index"], event["content"])
        elif kind == "message-finish":
            self._message = self._assemble(event)
        self._events.items.append(event)
        if self._message is not None:
            self._settle(None)

    def fail(self, error: BaseException) -> None:
        """The message will not be completed."""
        if not self.done:
            self._settle(error)

    def _settle(self, error: BaseException | None) -> None:
        for kept in (self._events, self._text, self._reasoning, self._calls):
            kept.done, kept.error = True, error

    def _delta(self, index: int, delta: Event) -> None:
        if "text" in delta:
            self._text.items.append(delta["text"])
        elif "reasoning" in delta:
            self._reasoning.items.append(delta["reasoning"])
        elif "args" in delta:
            self._calls.items.append({**self._begun[index], "args": delta["args"]})

    def _complete(self, index: int, block: Event) -> None:
        """Give what no piece of a text has given: a transformer may keep its end back."""
        for key, kept in (("text", self._text), ("reasoning", self._reasoning)):
            if block["type"] != key or not kept.items:
                continue
            deltas = (one["delta"] for one in self._events.items if _is_delta(one, index))
            told = "".join(delta.get(key, "") for delta in deltas)
            if len(block[key]) > len(told) and block[key].startswith(told):
                kept.items.append(block[key][len(told) :])

    def _assemble(self, end: Event) -> AIMessage:
        content: list[Any] = []
        for index, block in sorted(self._blocks.items()):
            called = block["type"] in ("tool_call", "invalid_tool_call")
            content.append(block if called else {**block, "index": index})
        return AIMessage(
            content=content or "",
            id=self.message_id,
            tool_calls=self._tool_calls(),
            invalid_tool_calls=self._of_type("invalid_tool_call"),
            usage_metadata=end.get("usage"),
            response_metadata={**end.get("metadata", {}), "output_version": "v1"},
        )

    def _tool_calls(self) -> list[Any]:
        return self._of_type("tool_call")

    def _of_type(self, kind: str) -> list[Any]:
        return [block for _, block in sorted(self._blocks.items()) if block["type"] == kind]

    def _unfinished(self) -> RuntimeError:
        return RuntimeError(
            f"Message {self.message_id!r} of node {self.node!r} was not completed: the model "
            "failed, and the node went on without it."
        )


def _is_delta(event: Event, index: int) -> bool:
    """Whether an event is a piece of a block."""
    return event["event"] == "content-block-delta" and event["index"] == index


class ChatModelStream(_ModelStream):
    """One message of a model in a sync run. Iterate over it for its raw events."""

    @property
    def text(self) -> TextProjection:
        """What it says."""
        return TextProjection(self._text)

    @property
    def reasoning(self) -> TextProjection:
        """What the model thinks."""
        return TextProjection(self._reasoning)

    @property
    def tool_calls(self) -> ToolCallsProjection:
        """What it calls."""
        return ToolCallsProjection(self._calls, self._tool_calls)

    @property
    def output(self) -> AIMessage:
        """The complete message; its content is a list of blocks.

        Raises:
            RuntimeError: it was never completed.
        """
        for _ in self._events.each():
            pass
        if self._message is None:
            raise self._unfinished()
        return self._message

    def __iter__(self) -> Iterator[Event]:
        return self._events.each()


class AsyncChatModelStream(_ModelStream):
    """One message of a model in an async run. `async for` over it gives its raw events."""

    on_close: Callable[[], Awaitable[None]] | None = None
    """Stops the model, where nobody but the reader of this stream has asked it."""

    @property
    def text(self) -> AsyncTextProjection:
        """What it says."""
        return AsyncTextProjection(self._text)

    @property
    def reasoning(self) -> AsyncTextProjection:
        """What the model thinks."""
        return AsyncTextProjection(self._reasoning)

    @property
    def tool_calls(self) -> AsyncToolCallsProjection:
        """What it calls."""
        return AsyncToolCallsProjection(self._calls, self._tool_calls)

    @property
    def output(self) -> AsyncOutput:
        """The complete message, to be awaited; its content is a list of blocks."""
        return AsyncOutput(self._whole)

    async def aclose(self) -> None:
        """Stop reading: a message that is not complete has failed with `CancelledError`."""
        if not self.done:
            self.fail(CancelledError("The stream of the message was closed."))
        if self.on_close is not None:
            await self.on_close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events.aeach()

    def __await__(self) -> Generator[Any, None, AIMessage]:
        return self._whole().__await__()

    async def _whole(self) -> AIMessage:
        async for _ in self._events.aeach():
            pass
        if self._message is None:
            raise self._unfinished()
        return self._message


class AsyncOutput:
    """The message of an `AsyncChatModelStream`; awaited, it drives the run."""

    __slots__ = ("_whole",)

    def __init__(self, whole: Callable[[], Any]) -> None:
        self._whole = whole

    def __await__(self) -> Generator[Any, None, AIMessage]:
        return cast("Generator[Any, None, AIMessage]", self._whole().__await__())


__all__ = ["AsyncChatModelStream", "ChatModelStream"]
