"""A compiled graph's streams of version "v3": `stream_events` and `astream_events`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload
from warnings import warn

from plait.errors import ConfigError
from plait.pregel.configs import one_input
from plait.runnables.base import Runnable
from plait.warnings import BetaWarning

if TYPE_CHECKING:
    from plait.runnables.config import ConfigLike
    from plait.runnables.event_stream import StreamEvent
    from plait.runnables.log_stream import RunLogPatch
    from plait.stream import AsyncGraphRunStream, GraphRunStream
    from plait.stream.base import Factory, Scope, StreamTransformer
    from plait.stream.mux import StreamMux

OWNED = ("stream_mode", "subgraphs")
"""Arguments of streams that follow from the transformers."""


def tool_calls(scope: Scope) -> StreamTransformer:
    """The transformer of `run.tool_calls`, for graphs that always have it."""
    from plait.stream.tool_calls import ToolCallTransformer  # few runs are read by it

    return ToolCallTransformer(scope)


class Streamed(Runnable[Any, Any]):
    """A compiled graph as far as it tells of its runs in events."""

    stream_transformers: tuple[Factory, ...] = ()
    """What its streams of version "v3" are transformed by, besides those that come with plait."""

    def stream_events(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        version: Literal["v1", "v2", "v3"] = "v2",
        transformers: Sequence[Factory] | None = None,
        **kwargs: Any,
    ) -> GraphRunStream:
        """Run the graph as far as its projections are read: states, messages, nested runs.

        The peer calls version "v3" experimental, and so it is here: a `BetaWarning` says so.

        Args:
            input: as in `stream`.
            config: as in `stream`.
            version: "v3"; the others are for `astream_events`.
            transformers: classes of `StreamTransformer`, or functions that make one for a
                namespace, besides those that the graph was compiled with.
            kwargs: other arguments of `stream`; `input_state=` is `input` under an older name.

        Raises:
            NotImplementedError: another version.
            ConfigError: the input is given twice.
            TypeError: `stream_mode` or `subgraphs`, which follow from the transformers.

        >>> from plait.graph import START, StateGraph
        >>> app = StateGraph(dict).add_node("twice", lambda s: {"n": s["n"] * 2})
        >>> run = app.add_edge(START, "twice").compile().stream_events({"n": 2}, version="v3")
        >>> run.output
        {'n': 4}
        """
        input = one_input(input, kwargs)
        if version != "v3":
            super().stream_events(input, cast("Any", config), version=version)
        from plait.stream.run_stream import GraphRunStream

        mux = self._mux(transformers, kwargs, is_async=False)
        return GraphRunStream(
            self.stream(input, cast("Any", config), **self._asked(mux, kwargs)), mux
        )

    @overload
    def astream_events(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        version: Literal["v1", "v2"] = "v2",
        **kwargs: Any,
    ) -> AsyncIterator[StreamEvent]: ...

    @overload
    def astream_events(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        version: Literal["v3"],
        transformers: Sequence[Factory] | None = None,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, AsyncGraphRunStream]: ...

    @overload
    def astream_events(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        version: Literal["v1", "v2", "v3"] = "v2",
        transformers: Sequence[Factory] | None = None,
        **kwargs: Any,
    ) -> Any: ...

    def astream_events(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        version: Literal["v1", "v2", "v3"] = "v2",
        transformers: Sequence[Factory] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[StreamEvent] | Coroutine[Any, Any, AsyncGraphRunStream]:
        """Stream what happens inside, as events.

        Version "v2" yields one dict for each thing that happens (see `Runnable.astream_events`).
        Version "v3" is to be awaited and gives an `AsyncGraphRunStream`; see `stream_events`.

        Args:
            input: as in `astream`.
            config: as in `astream`.
            version: "v2", "v1" or "v3".
            transformers: for "v3".
            kwargs: filters, for "v1" and "v2"; other arguments of `astream`; `input_state=`.

        Raises:
            ConfigError: `transformers` without version "v3"; an input that is given twice.
            NotImplementedError: an unknown version.
            TypeError: `stream_mode` or `subgraphs` with version "v3".
        """
        input = one_input(input, kwargs)
        if version == "v3":
            return self._astream_run(input, config, transformers, kwargs)
        if transformers:
            raise ConfigError(
                f'transformers= have nothing to do in version {version!r}: pass version="v3".'
            )
        return super().astream_events(input, cast("Any", config), version=version, **kwargs)

    def astream_log(
        self, input: Any = None, config: ConfigLike | None = None, **kwargs: Any
    ) -> AsyncIterator[RunLogPatch]:
        """`Runnable.astream_log`; the input may also be given as `input_state=`.

        Raises:
            ConfigError: it is given twice.
        """
        return super().astream_log(one_input(input, kwargs), cast("Any", config), **kwargs)

    async def _astream_run(
        self,
        given: Any,
        config: ConfigLike | None,
        transformers: Sequence[Factory] | None,
        kwargs: dict[str, Any],
    ) -> AsyncGraphRunStream:
        from plait.stream.run_stream import AsyncGraphRunStream

        mux = self._mux(transformers, kwargs, is_async=True)
        return AsyncGraphRunStream(
            self.astream(given, cast("Any", config), **self._asked(mux, kwargs)), mux
        )

    def _mux(
        self, transformers: Sequence[Factory] | None, kwargs: Mapping[str, Any], *, is_async: bool
    ) -> StreamMux:
        """The transformers of one run."""
        from plait.stream.mux import StreamMux
        from plait.stream.stream_channel import Lane
        from plait.stream.transformers import BUILT_IN

        for name in OWNED:
            if name in kwargs:
                raise TypeError(
                    f'Version "v3" takes no {name}=: nested runs are always told, and the modes '
                    "are those that the transformers require. Leave it out."
                )
        warn(
            'Streams of version "v3" are experimental in LangGraph, and may change with it.',
            BetaWarning,
            stacklevel=3,
        )
        return StreamMux(
            [*BUILT_IN, *self.stream_transformers, *(transformers or ())], (), Lane(is_async)
        )

    def _asked(self, mux: StreamMux, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the stream that a run is read from."""
        return {**kwargs, "stream_mode": sorted(mux.modes), "subgraphs": True, "version": "v2"}
