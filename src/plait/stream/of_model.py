"""`ChatModelStream`s of single calls of a model: whoever reads takes the chunks that it needs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from plait.stream.model_stream import AsyncChatModelStream, ChatModelStream
from plait.stream.pieces import OpenMessage
from plait.stream.stream_channel import Lane

Event = dict[str, Any]


class _Feeder:
    """Tells a stream of the chunks of a message, event by event.

    Args:
        stream: Where they are told.
        is_heard: Whether handlers hear of them, too.
    """

    __slots__ = ("_finish", "_is_heard", "_stream", "_told")

    def __init__(self, stream: Any, *, is_heard: bool) -> None:
        self._stream = stream
        self._is_heard = is_heard
        self._told: OpenMessage | None = None
        self._finish: list[Event] = []

    def take(self, chunk: Any) -> Iterator[Event]:
        """A chunk has come; yields what handlers hear now, each event once the stream has it. With
        the last chunk they hear of the message's end, which the stream has in `end`."""
        for event in self._events(chunk):
            self._stream.dispatch(event)
            yield event
        if self._is_heard and getattr(chunk, "chunk_position", None) == "last":
            assert self._told is not None
            self._finish = [*self._told.finish()]
            yield from self._finish

    def _events(self, chunk: Any) -> Iterator[Event]:
        if self._told is None:
            self._told = OpenMessage(chunk, {})
            yield self._told.start(chunk)
        yield from self._told.grow(chunk)

    def end(self) -> None:
        """No more chunks come.

        Raises:
            RuntimeError: None came at all.
        """
        if self._told is None:
            raise RuntimeError("The model gave no answer, not even an empty one.")
        for event in self._finish or self._told.finish():
            self._stream.dispatch(event)


def stream_of(chunks: Iterator[Any], run: Any = None) -> ChatModelStream:
    """The stream of a message whose chunks come from an iterator.

    Args:
        run: the manager of the run that says it, where handlers may want its events. They hear of
            the end before the run tells its own; who reads the stream has it when the run is over.
    """
    lane = Lane(is_async=False)
    stream = ChatModelStream(lane=lane)
    feeder = _Feeder(stream, is_heard=run is not None)

    def advance() -> None:
        try:
            chunk = next(chunks)
        except StopIteration:
            feeder.end()
            return
        for event in feeder.take(chunk):
            if run is not None:
                run.on_stream_event(event)

    def pump() -> bool:
        try:
            advance()
        except BaseException as error:
            stream.fail(error)
        return not stream.done

    lane.pump = pump
    return stream


def astream_of(chunks: AsyncIterator[Any], run: Any = None) -> AsyncChatModelStream:
    """`stream_of` for async iterators."""
    lane = Lane(is_async=True)
    stream = AsyncChatModelStream(lane=lane)
    feeder = _Feeder(stream, is_heard=run is not None)
    lock = asyncio.Lock()

    async def advance() -> None:
        try:
            chunk = await anext(chunks)
        except StopAsyncIteration:
            feeder.end()
            return
        for event in feeder.take(chunk):
            if run is not None:
                await run.on_stream_event(event)

    async def apump(ready: Callable[[], bool]) -> bool:
        async with lock:
            if ready():
                return True
            try:
                await advance()
            except BaseException as error:
                stream.fail(error)
                if not isinstance(error, Exception):
                    raise
            return not stream.done

    lane.apump = apump
    stream.on_close = getattr(chunks, "aclose", None)
    return stream


__all__ = ["astream_of", "stream_of"]
