"""The streams of runs that `stream_events(version="v3")` gives: whoever reads drives the run.

There is no thread and no background task: the run goes on when a consumer asks for what is not
there yet. In async runs several consumers may ask at once; one of them drives, and the others are
handed what comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextvars import copy_context
from types import MappingProxyType
from typing import Any, Literal, Self

from typing_extensions import TypedDict

from plait.common.closing import aclose
from plait.stream.base import ProtocolEvent, Scope
from plait.stream.mux import StreamMux, event_of
from plait.stream.pieces import Pieces
from plait.stream.stream_channel import StreamChannel

Part = Mapping[str, Any]
"""A part of a stream, as version "v2" gives it: type, ns, data."""
SubgraphStatus = Literal["started", "completed", "failed", "interrupted"]


class Cause(TypedDict):
    """What a nested run was begun by."""

    type: Literal["toolCall"]
    tool_call_id: str


class PartReader:
    """The events of the parts of one run.

    Args:
        mux: the run's.
    """

    __slots__ = ("_begun", "_mux", "_pieces")

    def __init__(self, mux: StreamMux) -> None:
        self._mux = mux
        self._pieces = Pieces()
        self._begun = False

    def events(self, part: Part) -> Iterable[ProtocolEvent]:
        """What a part tells."""
        mode, ns, data = part["type"], part["ns"], part["data"]
        if not self._begun:  # the first part is the run's own: only it knows its namespace
            self._begun = True
            if ns != self._mux.scope:
                self._mux.move(ns)
        if mode == "messages":
            for pair in self._pieces.of(*data):
                yield event_of(mode, ns, pair)
            return
        if mode == "tasks" and "result" in data:
            for pair in self._pieces.ended(ns, data):
                yield event_of("messages", ns, pair)
        event = event_of(mode, ns, data)
        if mode == "values":
            event["params"]["interrupts"] = part.get("interrupts", ())
        yield event


class _Streams:
    """What the streams of sync and async runs have in common.

    Args:
        parts: the run; None: a run around it drives it.
        mux: hands its events to transformers.
    """

    values: StreamChannel[Any]
    messages: StreamChannel[Any]
    lifecycle: StreamChannel[Any]
    subgraphs: StreamChannel[Any]
    subagents: StreamChannel[Any]
    updates: StreamChannel[Any]
    custom: StreamChannel[Any]
    checkpoints: StreamChannel[Any]
    debug: StreamChannel[Any]
    tasks: StreamChannel[Any]

    def __init__(self, parts: Any, mux: StreamMux) -> None:
        self._parts = parts
        self._mux = mux
        self._reader = PartReader(mux)
        self.extensions: Mapping[str, Any] = MappingProxyType(mux.extensions)
        """All projections by name."""
        for name, projection in mux.native.items():
            setattr(self, name, projection)

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(sorted(self.__dict__.get("extensions", ())))
        raise AttributeError(
            f"{type(self).__name__!r} has no attribute {name!r}. Its projections are: {known}. "
            "Others come with their transformer: transformers=[UpdatesTransformer], for example."
        )


class GraphRunStream(_Streams):
    """A run in sync code, which goes on as far as somebody reads.

    Made by `graph.stream_events(..., version="v3")`. Iterate over `values`, `messages`, `lifecycle`
    or `subgraphs`, over what transformers add, or over the run itself for all events. As a context
    manager it is stopped at the end of the block.

    Args:
        parts: the run; None: a run around it drives it.
        mux: hands its events to transformers.
    """

    _parts: Iterator[Part] | None

    def __init__(self, parts: Iterator[Part] | None, mux: StreamMux) -> None:
        super().__init__(parts, mux)
        if parts is not None:
            mux.lane.pump = self._pump

    def _pump(self) -> bool:
        """Take one part of the run; False once it has ended."""
        parts = self._parts
        if parts is None:
            return False
        try:
            for event in self._reader.events(next(parts)):
                self._mux.push(event)
        except StopIteration:
            self._parts = None
            self._finish()
        except BaseException as error:
            self._stop()
            self._mux.fail(error)
        return self._parts is not None

    def _finish(self) -> None:
        try:
            self._mux.close()
        except Exception as error:
            self._mux.fail(error)

    def _stop(self) -> None:
        parts, self._parts = self._parts, None
        close = getattr(parts, "close", None)
        if close is not None:
            close()

    def _run_out(self) -> None:
        """Drive the run to its end.

        Raises:
            BaseException: what it failed with.
        """
        while not self._mux.done and self._mux.lane.pump():
            pass
        if self._mux.error is not None:
            raise self._mux.error

    @property
    def output(self) -> Any:
        """The last state; drives the run to its end."""
        self._run_out()
        return self._mux.output

    @property
    def interrupted(self) -> bool:
        """Whether the run waits for answers; drives it to its end."""
        return bool(self.interrupts)

    @property
    def interrupts(self) -> list[Any]:
        """What the run asks; drives it to its end."""
        self._run_out()
        return list(self._mux.interrupts)

    def interleave(self, *names: str) -> Iterator[tuple[str, Any]]:
        """Several projections at once, in the order in which their items come.

        Args:
            names: of projections that are channels.

        Yields:
            Pairs of name and item.

        Raises:
            KeyError: there is no such projection.
            RuntimeError: one of them has a consumer.
        """
        channels: dict[str, StreamChannel[Any]] = {name: self.extensions[name] for name in names}
        taken: list[StreamChannel[Any]] = []
        try:
            for channel in channels.values():
                channel.take(is_async=False)
                taken.append(channel)
            more = True
            while True:
                heads = {name: each.head() for name, each in channels.items()}
                ready = {stamp: name for name, stamp in heads.items() if stamp is not None}
                if ready:
                    name = ready[min(ready)]
                    yield name, channels[name].next_item()
                elif more:
                    more = not self._mux.done and self._mux.lane.pump()
                else:
                    return
        finally:
            for channel in taken:
                channel.release()

    def abort(self) -> None:
        """Stop the run. What was told stays readable."""
        self._stop()
        self._finish()

    def __iter__(self) -> Iterator[ProtocolEvent]:
        return iter(self._mux.log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()


class AsyncGraphRunStream(_Streams):
    """A run in an event loop, which goes on as far as somebody reads.

    Made by `await graph.astream_events(..., version="v3")`; see `GraphRunStream`. Its consumers may
    read at the same time. `output`, `interrupted` and `interrupts` are methods to be awaited.

    Args:
        parts: the run; None: a run around it drives it.
        mux: hands its events to transformers.
    """

    _parts: AsyncIterator[Part] | None

    def __init__(self, parts: AsyncIterator[Part] | None, mux: StreamMux) -> None:
        super().__init__(parts, mux)
        self._context = copy_context()  # each step of the run is one of this context
        self._lock = asyncio.Lock()
        self._step: asyncio.Task[None] | None = None
        if parts is not None:
            mux.lane.apump = self._apump

    async def _apump(self, ready: Callable[[], bool]) -> bool:
        """Take one part of the run; False once it has ended."""
        async with self._lock:
            if ready():
                return True
            if self._parts is None:
                return False
            if self._step is None or self._step.done():
                self._step = self._task(self._take(self._parts))
            # A consumer that is cancelled does not cancel the run: the next one waits for the step.
            await asyncio.shield(self._step)
            return self._is_open()

    def _is_open(self) -> bool:
        return self._parts is not None

    async def _take(self, parts: AsyncIterator[Part]) -> None:
        try:
            for event in self._reader.events(await anext(parts)):
                await self._mux.apush(event)
        except StopAsyncIteration:
            self._parts = None
            await self._finish()
        except BaseException as error:
            if self._parts is not parts:
                return  # the run was aborted
            self._parts = None
            await aclose(parts)
            await self._mux.afail(error)

    async def _finish(self) -> None:
        try:
            await self._mux.aclose()
        except Exception as error:
            await self._mux.afail(error)

    def _task(self, coro: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(coro, context=self._context)

    async def _run_out(self) -> None:
        while not self._mux.done and await self._mux.lane.apump(lambda: self._mux.done):
            pass
        if self._mux.error is not None:
            raise self._mux.error

    async def output(self) -> Any:
        """The last state; drives the run to its end."""
        await self._run_out()
        return self._mux.output

    async def interrupted(self) -> bool:
        """Whether the run waits for answers; drives it to its end."""
        return bool(await self.interrupts())

    async def interrupts(self) -> list[Any]:
        """What the run asks; drives it to its end."""
        await self._run_out()
        return list(self._mux.interrupts)

    async def abort(self) -> None:
        """Stop the run: its nodes are cancelled. What was told stays readable."""
        parts, self._parts = self._parts, None
        step = self._step
        if step is not None and not step.done():
            step.cancel()
            await asyncio.wait([step])
        if parts is not None:
            await self._task(aclose(parts))
        await self._finish()

    def __aiter__(self) -> AsyncIterator[ProtocolEvent]:
        return aiter(self._mux.log)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.abort()


class _Nested(_Streams):
    """What is known of a nested run besides its projections.

    Args:
        mux: hands its events to transformers.
        path: its namespace.
        graph_name: the agent that it is a run of, or the node that it runs in.
        trigger_call_id: the task that it runs in.
        cause: the tool call that it runs in.
    """

    def __init__(
        self,
        mux: StreamMux,
        *,
        path: Scope,
        graph_name: str | None = None,
        trigger_call_id: str | None = None,
        cause: Cause | None = None,
    ) -> None:
        super().__init__(None, mux)
        self.mux = mux
        self.path = path
        """Its namespace."""
        self.graph_name = graph_name
        """What it is called: as its agent is, else as the node that it runs in."""
        self.trigger_call_id = trigger_call_id
        """The id of the task that it runs in."""
        self.cause = cause
        """The tool call that it runs in, if it was one."""
        self.status: SubgraphStatus = "started"
        self.error: str | None = None
        """What it failed with, in words."""
        self.failure: BaseException | None = None

    @property
    def name(self) -> str | None:
        """`graph_name`: the name of the agent, for one of `run.subagents`."""
        return self.graph_name

    def end(self, status: SubgraphStatus, error: str | None) -> None:
        """The run has ended."""
        self.status, self.error = status, error
        if error is not None:
            self.failure = RuntimeError(error)


class SubgraphRunStream(_Nested, GraphRunStream):
    """A nested run in sync code: one of `run.subgraphs` or of `run.subagents`.

    Reading it drives the outermost run.
    """


class AsyncSubgraphRunStream(_Nested, AsyncGraphRunStream):
    """`SubgraphRunStream` in an event loop."""


__all__ = [
    "AsyncGraphRunStream",
    "AsyncSubgraphRunStream",
    "Cause",
    "GraphRunStream",
    "SubgraphRunStream",
    "SubgraphStatus",
]
