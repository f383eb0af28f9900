"""`StreamMux`: hands the events of one run to its transformers, and keeps their projections.

Each run has one; a run that is nested in it has its own, made by `SubgraphTransformer`, which is
handed the same events. All share one `Lane`, which drives the outermost run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from time import time
from typing import Any, cast

from plait.stream.base import Factory, ProtocolEvent, Scope, StreamTransformer
from plait.stream.stream_channel import Lane, StreamChannel, channels_of


class StreamMux:
    """The transformers of one run.

    Args:
        factories: what makes them, in order.
        scope: the namespace of the run.
        lane: drives the run.
        outer: the mux of the run around it.

    Raises:
        TypeError: a factory is none, or gives no transformer; projections are no dict.
        ValueError: two transformers offer a projection of one name.
        RuntimeError: a transformer needs an event loop, and there is none.
    """

    def __init__(
        self,
        factories: Sequence[Factory],
        scope: Scope,
        lane: Lane,
        outer: StreamMux | None = None,
    ) -> None:
        self.factories = factories
        self.scope = scope
        self.lane = lane
        self.outer = outer
        self.log: StreamChannel[ProtocolEvent] = StreamChannel()
        """All events that are told."""
        self.log.bind(lane)
        self.extensions: dict[str, Any] = {}
        """The projections of all transformers."""
        self.native: dict[str, Any] = {}
        """Those that are attributes of the run."""
        self.output: Any = None
        """The newest state of the run."""
        self.interrupts: list[Any] = []
        """What the run asks."""
        self.done = False
        self.error: BaseException | None = None
        self._seq = count(1)
        self._owners: dict[str, str] = {}
        made = [_made(factory, scope) for factory in factories]
        self.transformers = sorted(made, key=lambda each: not each.before_builtins)
        for each in made:
            self._register(each)

    @property
    def modes(self) -> set[str]:
        """The stream modes that the transformers ask for."""
        return {mode for each in self.transformers for mode in each.required_stream_modes}

    def child(self, scope: Scope) -> StreamMux:
        """The mux of a run nested in this one."""
        return StreamMux(self.factories, scope, self.lane, self)

    def move(self, scope: Scope) -> None:
        """The run turned out to have another namespace: nothing has been told yet."""
        self.scope = scope
        for each in self.transformers:
            each.scope = scope

    # --- events ----------------------------------------------------------------------------------

    def push(self, event: ProtocolEvent) -> None:
        """Hand an event to the transformers, then tell it, unless one of them says no."""
        if self.done:
            return
        self._see(event)
        kept = True
        for each in self.transformers:
            kept = each.process(event) is not False and kept
        if kept:
            self._told(event)

    async def apush(self, event: ProtocolEvent) -> None:
        """`push` in an event loop."""
        if self.done:
            return
        self._see(event)
        kept = True
        for each in self.transformers:
            kept = await each.aprocess(event) is not False and kept
        if kept:
            self._told(event)

    def _see(self, event: ProtocolEvent) -> None:
        params = event["params"]
        if event["method"] == "values" and tuple(params["namespace"]) == self.scope:
            self.output = params["data"]
            self.interrupts.extend(params.get("interrupts", ()))

    def _told(self, event: ProtocolEvent) -> None:
        if self.outer is None:
            event["seq"] = next(self._seq)
        self.log.push(event)

    # --- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """The run has ended."""
        if self.done:
            return
        for each in self.transformers:
            each.finalize()
        self.done = True
        for channel in self._channels():
            channel.close()

    async def aclose(self) -> None:
        """`close` in an event loop."""
        if self.done:
            return
        await self._join()
        for each in self.transformers:
            await each.afinalize()
        self.done = True
        for channel in self._channels():
            channel.close()

    def fail(self, err: BaseException) -> None:
        """The run has failed: whoever consumes anything of it gets the error."""
        if self.done:
            return
        self.done, self.error = True, err
        for each in self.transformers:
            each.fail(err)
        self._fail_channels(err)

    async def afail(self, err: BaseException) -> None:
        """`fail` in an event loop."""
        if self.done:
            return
        self.done, self.error = True, err
        for task in self._take_scheduled():
            task.cancel()
            await asyncio.wait([task])
        for each in self.transformers:
            await each.afail(err)
        self._fail_channels(err)

    def _fail_channels(self, err: BaseException) -> None:
        for channel in self._channels():
            channel.fail(err)

    async def _join(self) -> None:
        """Wait for all that was scheduled.

        Raises:
            BaseException: of a task that was scheduled with `on_error="raise"`.
        """
        while tasks := self._take_scheduled():
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            for each in ended:
                if isinstance(each, BaseException):
                    raise each

    def _take_scheduled(self) -> list[asyncio.Task[Any]]:
        return [task for each in self.transformers for task in each.take_scheduled()]

    def _channels(self) -> Iterable[StreamChannel[Any]]:
        yield self.log
        yield from channels_of(self.extensions)

    # --- setting up ------------------------------------------------------------------------------

    def _register(self, each: StreamTransformer) -> None:
        name = type(each).__name__
        if not self.lane.is_async and each.needs_loop():
            raise RuntimeError(
                f"Transformer {name} works in async runs only, since it overrides aprocess, "
                "afinalize or afail, or says requires_async = True. Use "
                'astream_events(version="v3"), or say supports_sync = True.'
            )
        given: Any = each.init()
        if not isinstance(given, dict):
            raise TypeError(
                f"{name}.init() must return a dict of projections, not "
                f"{type(cast('object', given)).__name__}."
            )
        projections = cast("dict[str, Any]", given)
        taken = [f"{key!r} (of {self._owners[key]})" for key in projections if key in self._owners]
        if taken:
            raise ValueError(
                f"Transformer {name} offers projections whose names are taken: "
                f"{', '.join(sorted(taken))}. Name them otherwise."
            )
        self._owners.update(dict.fromkeys(projections, name))
        self.extensions.update(projections)
        if each.is_native:
            self.native.update(projections)
        each.attached(self)
        for channel in channels_of(projections):
            channel.bind(self.lane, self._teller(channel.name, each.is_native))

    def _teller(self, name: str | None, native: bool) -> Callable[[Any], None] | None:
        """What tells the items of a channel as events."""
        if name is None:
            return None
        method = name if native else f"custom:{name}"
        return lambda item: self._told(event_of(method, (), item))


def event_of(method: str, namespace: Scope, data: Any) -> ProtocolEvent:
    """An event that happens now."""
    return {
        "type": "event",
        "method": method,
        "params": {"namespace": list(namespace), "timestamp": int(time() * 1000), "data": data},
    }


def _made(factory: Any, scope: Scope) -> StreamTransformer:
    """A transformer for a scope.

    Raises:
        TypeError: this is no way to make one.
    """
    if isinstance(factory, StreamTransformer) or not callable(factory):
        raise TypeError(
            f"transformers= takes classes, or functions such as `lambda scope: Mine(scope, 1)`: "
            f"each run needs its own. It was given {factory!r}."
        )
    made = factory(scope)
    if not isinstance(made, StreamTransformer):
        raise TypeError(
            f"{factory!r} made {made!r} for transformers=, which is no StreamTransformer."
        )
    return made


__all__ = ["StreamMux", "event_of"]
