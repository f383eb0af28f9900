"""One stream read by several, and several streams read as one.

Loaded by the first stream through a `RunnableParallel`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Lock, Semaphore
from typing import Any, Generic, TypeVar

from plait.common.closing import STARTED, aclose, read_inside
from plait.runnables.places import Branches
from plait.runnables.threads import on_a_thread

K = TypeVar("K", bound=Hashable)


class _Tee:
    """A stream that several read, each at its own pace and from its own thread."""

    def __init__(self, source: Iterator[Any], readers: int) -> None:
        self._source = source
        self._waiting: list[deque[Any]] = [deque() for _ in range(readers)]
        self._lock = Lock()
        self._error: BaseException | None = None

    def read(self, reader: int) -> Iterator[Any]:
        """What reader number `reader` gets."""
        mine = self._waiting[reader]
        while True:
            while mine:  # what is there is given without waiting for another reader's fetch
                yield mine.popleft()
            with self._lock:
                if mine or self._fetch():
                    continue
            if self._error is not None:
                raise self._error
            return

    def _fetch(self) -> bool:
        if self._error is not None:
            return False
        try:
            item = next(self._source)
        except StopIteration:
            return False
        except BaseException as error:
            self._error = error  # for every reader
            return False
        for waiting in self._waiting:
            waiting.append(item)
        return True


def tee(source: Iterator[Any], readers: int) -> list[Iterator[Any]]:
    """`readers` iterators over all of `source`, which threads may read."""
    if readers == 1:
        return [source]
    shared = _Tee(source, readers)
    return [shared.read(reader) for reader in range(readers)]


class Merged(Generic[K]):
    """The chunks of several streams as they come, as (key of the stream, chunk).

    Each stream is read on a thread of its own, at most one chunk ahead. Reading begins at once.

    Args:
        streams: The streams by key.
        limit: How many of them may work at once.
    """

    def __init__(self, streams: Mapping[K, Iterator[Any]], limit: int | None = None) -> None:
        self._running = len(streams)
        self._ready: SimpleQueue[tuple[K, Any, BaseException | None, bool]] = SimpleQueue()
        self._turns = {key: Semaphore(1) for key in streams}
        self._gate: AbstractContextManager[Any] = Semaphore(limit) if limit else nullcontext()
        self._closed = False
        self._branches = Branches(len(streams))
        for index, (key, stream) in enumerate(streams.items()):
            read = partial(self._read, index, key, stream)
            on_a_thread(partial(copy_context().run, read))

    def _read(self, index: int, key: K, stream: Iterator[Any]) -> None:
        self._branches.begin(index)
        error: BaseException | None = None
        try:
            while True:
                self._turns[key].acquire()
                if self._closed:
                    break
                with self._gate:
                    chunk = next(stream)
                self._ready.put((key, chunk, None, False))
        except StopIteration:
            pass
        except BaseException as raised:
            error = raised
        self._ready.put((key, None, error, True))

    def __iter__(self) -> Iterator[tuple[K, Any]]:
        try:
            while self._running:
                key, chunk, error, is_end = self._ready.get()
                if error is not None:
                    raise error
                if is_end:
                    self._running -= 1
                else:
                    yield key, chunk
                    self._turns[key].release()
        finally:
            self.close()

    def close(self) -> None:
        """Let the threads go; each finishes the chunk that it is at."""
        self._closed = True
        for turn in self._turns.values():
            turn.release()


class _AsyncTee:
    """The async twin of `_Tee`, for tasks of one event loop."""

    def __init__(self, source: AsyncIterator[Any], readers: int) -> None:
        self._source = source
        self._waiting: list[deque[Any]] = [deque() for _ in range(readers)]
        self._lock = asyncio.Lock()
        self._error: BaseException | None = None

    async def read(self, reader: int) -> AsyncIterator[Any]:
        """What reader number `reader` gets."""
        mine = self._waiting[reader]
        while True:
            while mine:  # what is there is given without waiting for another reader's fetch
                yield mine.popleft()
            async with self._lock:
                if mine or await self._fetch():
                    continue
            if self._error is not None:
                raise self._error
            return

    async def _fetch(self) -> bool:
        if self._error is not None:
            return False
        try:
            item = await anext(self._source)
        except StopAsyncIteration:
            return False
        except Exception as error:
            self._error = error  # for every reader
            return False
        for waiting in self._waiting:
            waiting.append(item)
        return True


def atee(source: AsyncIterator[Any], readers: int) -> list[AsyncIterator[Any]]:
    """The async twin of `tee`."""
    if readers == 1:
        return [source]
    shared = _AsyncTee(source, readers)
    return [shared.read(reader) for reader in range(readers)]


class AsyncMerged(Generic[K]):
    """The async twin of `Merged`, with tasks for threads."""

    def __init__(self, streams: Mapping[K, AsyncIterator[Any]], limit: int | None = None) -> None:
        self._running = len(streams)
        self._ready: asyncio.Queue[tuple[K, Any, BaseException | None, bool]] = asyncio.Queue()
        self._turns = {key: asyncio.Semaphore(1) for key in streams}
        self._gate: Any = asyncio.Semaphore(limit) if limit else nullcontext()
        self._branches = Branches(len(streams))
        self._tasks = [
            asyncio.ensure_future(self._read(index, key, stream))
            for index, (key, stream) in enumerate(streams.items())
        ]

    async def _read(self, index: int, key: K, stream: AsyncIterator[Any]) -> None:
        self._branches.begin(index)
        error: BaseException | None = None
        try:
            while True:
                await self._turns[key].acquire()
                async with self._gate:
                    chunk = await anext(stream)
                self._ready.put_nowait((key, chunk, None, False))
        except StopAsyncIteration:
            pass
        except Exception as raised:
            error = raised
        finally:
            await aclose(stream)
        self._ready.put_nowait((key, None, error, True))

    @read_inside
    async def read(self) -> AsyncGenerator[tuple[K, Any], None]:
        """The chunks as they come."""
        yield STARTED
        try:
            while self._running:
                key, chunk, error, is_end = await self._ready.get()
                if error is not None:
                    raise error
                if is_end:
                    self._running -= 1
                else:
                    yield key, chunk
                    self._turns[key].release()
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Cancel what still runs, and wait for its end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


__all__ = ["AsyncMerged", "Merged", "atee", "tee"]
