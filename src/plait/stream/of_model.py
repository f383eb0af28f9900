"""`ChatModelStream`s of single calls of a model: whoever reads takes the chunks that it needs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from plait.stream.model_stream import AsyncChatModelStream, ChatModelStream
from plait.stream.pieces import OpenMessage
from plait.stream.stream_channel import Lane


class _Feeder:
    """Tells a stream of the chunks of its message.

    Args:
        stream: the stream.
    """

    __slots__ = ("_stream", "_told")

    def __init__(self, stream: ChatModelStream | AsyncChatModelStream) -> None:
        self._stream = stream
        self._told: OpenMessage | None = None

    def take(self, chunk: Any) -> None:
        """A chunk has come."""
        if self._told is None:
            self._told = OpenMessage(chunk, {})
            self._stream.dispatch(self._told.start(chunk))
        for event in self._told.grow(chunk):
            self._stream.dispatch(event)

    def end(self) -> None:
        """No more chunks come."""
        if self._told is None:
            self._stream.fail(RuntimeError("The model gave no answer, not even an empty one."))
            return
        for event in self._told.finish():
            self._stream.dispatch(event)


def stream_of(chunks: Iterator[Any]) -> ChatModelStream:
    """The stream of a message whose chunks come from an iterator."""
    lane = Lane(is_async=False)
    stream = ChatModelStream(lane=lane)
    feeder = _Feeder(stream)

    def pump() -> bool:
        try:
            feeder.take(next(chunks))
        except StopIteration:
            feeder.end()
        except BaseException as error:
            stream.fail(error)
        return not stream.done

    lane.pump = pump
    return stream


def astream_of(chunks: AsyncIterator[Any]) -> AsyncChatModelStream:
    """`stream_of` for async iterators."""
    lane = Lane(is_async=True)
    stream = AsyncChatModelStream(lane=lane)
    feeder = _Feeder(stream)
    lock = asyncio.Lock()

    async def apump(ready: Callable[[], bool]) -> bool:
        async with lock:
            if ready():
                return True
            try:
                feeder.take(await anext(chunks))
            except StopAsyncIteration:
                feeder.end()
            except BaseException as error:
                stream.fail(error)
                if not isinstance(error, Exception):
                    raise
            return not stream.done

    lane.apump = apump
    stream.on_close = getattr(chunks, "aclose", None)
    return stream


__all__ = ["astream_of", "stream_of"]
