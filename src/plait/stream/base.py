"""What streams of version "v3" are made of: their events, and what transforms them."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Literal, NotRequired

from typing_extensions import TypedDict

logger = logging.getLogger(__name__)

Scope = tuple[str, ...]
"""The namespace of one run: () for the outermost."""
Factory = Callable[[Scope], Any]
"""A class of transformers, or a function that makes one for a scope."""


class EventParams(TypedDict):
    """What an event says."""

    namespace: list[str]
    timestamp: int
    data: Any
    interrupts: NotRequired[tuple[Any, ...]]


class ProtocolEvent(TypedDict):
    """One event of a run: a part of its stream, or what a named channel was given.

    `method` is the mode of the part ("values", "messages", "custom" ...) or the name of the
    channel. `seq` counts the events of the outermost run, from 1; those that only a nested run's
    stream tells have none. `timestamp` is wall time, in milliseconds.
    """

    type: Literal["event"]
    event_id: NotRequired[str]
    seq: NotRequired[int]
    method: str
    params: EventParams


class StreamTransformer(ABC):
    """Makes projections out of the events of a run: what `run.extensions` holds.

    Subclasses say in `init` what they offer, and override `process` (or `aprocess`, for async
    work). One is made for each run, and for each run nested in it.

    Args:
        scope: the namespace of the run that it is made for.

    >>> from plait.stream import StreamChannel
    >>> class Counter(StreamTransformer):
    ...     required_stream_modes = ("updates",)
    ...
    ...     def init(self):
    ...         self.updates = 0
    ...         self.counts = StreamChannel[int]()
    ...         return {"counts": self.counts}
    ...
    ...     def process(self, event):
    ...         if event["method"] == "updates":
    ...             self.updates += 1
    ...             self.counts.push(self.updates)
    ...         return True
    """

    requires_async: ClassVar[bool] = False
    """It needs a running event loop, although it overrides no async method."""
    supports_sync: ClassVar[bool] = False
    """It works in sync runs, although it overrides async methods."""
    required_stream_modes: ClassVar[tuple[str, ...]] = ()
    """The stream modes that it wants to hear."""
    before_builtins: ClassVar[bool] = False
    """It sees each event before plait's own transformers do, to change it for them."""
    _native: ClassVar[bool] = False
    """Its projections are attributes of the run, too, and its channels are named as they are."""

    scope: Scope = ()
    _scheduled: list[asyncio.Task[Any]] | None = None

    def __init__(self, scope: Scope = ()) -> None:
        self.scope = scope

    @abstractmethod
    def init(self) -> dict[str, Any]:
        """The projections, by name. Channels among them are wired, and closed with the run."""

    def process(self, event: ProtocolEvent) -> bool:
        """Look at an event.

        Returns:
            Whether the event stays among those that the run tells.
        """
        raise NotImplementedError(f"{type(self).__name__} must override process() or aprocess()")

    async def aprocess(self, event: ProtocolEvent) -> bool:
        """`process` in an event loop; the next transformer waits for it."""
        return self.process(event)

    def finalize(self) -> None:
        """The run has ended."""
        return

    async def afinalize(self) -> None:
        """`finalize` in an event loop, after what was scheduled."""
        self.finalize()

    def fail(self, err: BaseException) -> None:
        """The run has failed."""
        return

    async def afail(self, err: BaseException) -> None:
        """`fail` in an event loop, after what was scheduled has been cancelled."""
        self.fail(err)

    def schedule(
        self, coro: Coroutine[Any, Any, Any], *, on_error: Literal["log", "raise"] = "log"
    ) -> asyncio.Task[Any]:
        """Run something beside the stream; the run waits for it before it ends.

        Args:
            coro: what to run.
            on_error: "log" logs an error, "raise" fails the run with it.

        Raises:
            RuntimeError: there is no event loop.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            coro.close()
            raise RuntimeError(
                f"{type(self).__name__}.schedule() needs a running event loop: use the transformer "
                "with astream_events(). Set requires_async = True on the class to be told so "
                "when the run begins."
            ) from None
        if self._scheduled is None:
            self._scheduled = []
        task = loop.create_task(_logged(coro) if on_error == "log" else coro)
        self._scheduled.append(task)
        return task

    def take_scheduled(self) -> list[asyncio.Task[Any]]:
        """What was scheduled and has not been waited for."""
        tasks, self._scheduled = self._scheduled or [], None
        return tasks

    def attached(self, mux: Any) -> None:
        """The run's `StreamMux` has taken it; for transformers that make runs of their own."""
        return

    @property
    def is_native(self) -> bool:
        """Whether its projections are attributes of the run."""
        return self._native

    @classmethod
    def needs_loop(cls) -> bool:
        """Whether it works in async runs alone."""
        overrides = any(
            getattr(cls, name) is not getattr(StreamTransformer, name)
            for name in ("aprocess", "afinalize", "afail")
        )
        return cls.requires_async or (overrides and not cls.supports_sync)


async def _logged(coro: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await coro
    except Exception:
        logger.exception("What a StreamTransformer scheduled has failed")


__all__ = ["EventParams", "Factory", "ProtocolEvent", "Scope", "StreamTransformer"]
