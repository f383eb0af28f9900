"""`StreamChannel`: what a transformer pushes, for one consumer, who drives the run by asking."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def _never() -> bool:
    return False


async def _anever(ready: Callable[[], bool]) -> bool:
    return False


class Lane:
    """What all channels of one run share.

    Args:
        is_async: whether the run is driven in an event loop.
    """

    __slots__ = ("apump", "is_async", "pump", "stamps")

    def __init__(self, is_async: bool) -> None:
        self.is_async = is_async
        self.stamps = count()
        """Which of two items came first."""
        self.pump: Callable[[], bool] = _never
        """Drives the run by one part; False once it has ended."""
        self.apump: Callable[[Callable[[], bool]], Awaitable[bool]] = _anever
        """`pump` in an event loop, unless the given function says that there is no need."""


class StreamChannel(Generic[T]):
    """A queue with one consumer, who drives the run while it is empty.

    What is pushed while nobody consumes is not kept, so memory is bounded: consume before you
    drive. `tee` and `atee` make several consumers of one.

    Args:
        name: also tell each item as an event of the run, under this name (`custom:<name>`, unless
            the transformer is a native one).
        maxlen: accepted; the consumer's pace bounds the queue.

    Raises:
        ValueError: `maxlen` is not positive.
    """

    def __init__(self, name: str | None = None, *, maxlen: int | None = None) -> None:
        if maxlen is not None and maxlen <= 0:
            raise ValueError(f"maxlen={maxlen!r} must be a positive int, or None for no bound.")
        self.name = name
        self._items: deque[tuple[int, T]] = deque()
        self._lane: Lane | None = None
        self._tell: Callable[[T], None] | None = None
        self._consumed = False
        self._closed = False
        self._error: BaseException | None = None

    # --- for transformers and runs ---------------------------------------------------------------

    def bind(self, lane: Lane, tell: Callable[[T], None] | None = None) -> None:
        """Make it part of a run.

        Args:
            lane: drives the run.
            tell: is told of each item.
        """
        self._lane = lane
        self._tell = tell

    @property
    def lane(self) -> Lane:
        """What drives the run that it is part of."""
        assert self._lane is not None
        return self._lane

    def push(self, item: T) -> None:
        """Add an item.

        Raises:
            RuntimeError: the channel is closed, and somebody consumes it.
        """
        if self._consumed and self._lane is not None:
            if self._closed:
                raise RuntimeError(
                    f"StreamChannel {self.name or ''!r} is closed: its run has ended. Push what "
                    "comes last in finalize()."
                )
            self._items.append((next(self._lane.stamps), item))
        if self._tell is not None:
            self._tell(item)

    def close(self) -> None:
        """No more items come."""
        self._closed = True

    def fail(self, err: BaseException) -> None:
        """No more items come, since something failed; the consumer gets the error."""
        if not self._closed:
            self._closed, self._error = True, err

    # --- for consumers ---------------------------------------------------------------------------

    def take(self, is_async: bool) -> None:
        """Become the consumer.

        Raises:
            TypeError: the channel is part of no run, or of one of the other kind.
            RuntimeError: it has a consumer.
        """
        if self._lane is None:
            raise TypeError(
                "This StreamChannel is part of no run. Return it from the init() of a "
                "StreamTransformer, and pass that to stream_events()."
            )
        if self._lane.is_async is not is_async:
            word = "async for" if self._lane.is_async else "for"
            raise TypeError(f"This StreamChannel needs '{word}', as its run does.")
        if self._consumed:
            many = "atee" if is_async else "tee"
            raise RuntimeError(f"StreamChannel has a consumer; use .{many}(n) for several.")
        self._consumed = True

    @property
    def consumed(self) -> bool:
        """Whether it has a consumer; what is pushed meanwhile is kept for it."""
        return self._consumed

    def release(self) -> None:
        """Stop being the consumer; what was not taken is dropped."""
        self._consumed = False
        self._items.clear()

    def head(self) -> int | None:
        """The stamp of the next item, if there is one.

        Raises:
            BaseException: what the channel failed with, once all items are taken.
        """
        if self._items:
            return self._items[0][0]
        if self._error is not None:
            raise self._error
        return None

    def next_item(self) -> T:
        """Take the next item, which is there."""
        return self._items.popleft()[1]

    def _settled(self) -> bool:
        """Whether asking the run for more is of no use."""
        return bool(self._items) or self._closed

    def __iter__(self) -> Iterator[T]:
        self.take(is_async=False)
        return self._cursor()

    def _cursor(self) -> Iterator[T]:
        lane = self.lane
        more = True
        while more or self.head() is not None:
            while self.head() is not None:
                yield self.next_item()
            more = not self._closed and lane.pump()

    def __aiter__(self) -> AsyncIterator[T]:
        self.take(is_async=True)
        return self._acursor()

    async def _acursor(self) -> AsyncIterator[T]:
        lane = self.lane
        more = True
        while more or self.head() is not None:
            while self.head() is not None:
                yield self.next_item()
            more = not self._closed and await lane.apump(self._settled)

    def tee(self, n: int = 2) -> tuple[Iterator[T], ...]:
        """Consume it by several iterators, each of which gets all items.

        Raises:
            ValueError: less than one.
        """
        _check_branches("tee", n)
        source = iter(self)
        branches = [deque[T]() for _ in range(n)]

        def branch(own: deque[T]) -> Iterator[T]:
            while True:
                if not own:
                    try:
                        item = next(source)
                    except StopIteration:
                        self.head()  # each branch gets the error of a run that failed
                        return
                    for each in branches:
                        each.append(item)
                yield own.popleft()

        return tuple(branch(own) for own in branches)

    def atee(self, n: int = 2) -> tuple[AsyncIterator[T], ...]:
        """`tee` for async runs.

        Raises:
            ValueError: less than one.
        """
        _check_branches("atee", n)
        source = aiter(self)
        branches = [deque[T]() for _ in range(n)]
        lock = asyncio.Lock()

        async def branch(own: deque[T]) -> AsyncIterator[T]:
            while True:
                async with lock:
                    if not own:
                        try:
                            item = await anext(source)
                        except StopAsyncIteration:
                            self.head()
                            return
                        for each in branches:
                            each.append(item)
                yield own.popleft()

        return tuple(branch(own) for own in branches)


def _check_branches(name: str, n: int) -> None:
    if n < 1:
        raise ValueError(f"{name}({n}) makes no iterator: {name}() requires n >= 1.")


def channels_of(projections: dict[str, Any]) -> Iterator[StreamChannel[Any]]:
    """The channels among projections."""
    for held in projections.values():
        if isinstance(held, StreamChannel):
            yield held  # pyright: ignore[reportUnknownVariableType]


__all__ = ["Lane", "StreamChannel", "channels_of"]
