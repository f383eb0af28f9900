"""Chat models whose answers are read by what one wants of them: `stream_events(version="v3")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from warnings import warn

from plait.messages import AIMessage
from plait.runnables.base import Runnable
from plait.warnings import BetaWarning

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig


class Projected(Runnable[Any, AIMessage]):
    """A chat model as far as its answers are projected."""

    def stream_events(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        version: Literal["v1", "v2", "v3"] = "v2",
        **kwargs: Any,
    ) -> Any:
        """Ask the model; the answer comes as far as it is read.

        LangChain calls version "v3" experimental: a `BetaWarning` says so here.

        Args:
            input: As in `stream`.
            config: As in `stream`.
            version: "v3".
            kwargs: Other arguments of `stream`.

        Returns:
            A `ChatModelStream`, with the projections `text`, `reasoning`, `tool_calls`, `output`.

        Raises:
            NotImplementedError: Another version.

        >>> from plait.chat_models.fake import ScriptedChatModel
        >>> answer = ScriptedChatModel(["It is dry."]).stream_events("Well?", version="v3")
        >>> list(answer.text), answer.output.text
        (['It ', 'is ', 'dry.'], 'It is dry.')
        """
        if version != "v3":
            return super().stream_events(input, config, version=version)
        from plait.stream.of_model import stream_of  # few answers are read by it

        _warn()
        return stream_of(iter(self.stream(input, config, **kwargs)))

    def astream_events(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        version: Literal["v1", "v2", "v3"] = "v2",
        **kwargs: Any,
    ) -> Any:
        """Events of versions "v1" and "v2" (see `Runnable.astream_events`); or projections.

        Version "v3" is to be awaited and gives an `AsyncChatModelStream`; see `stream_events`.
        """
        if version != "v3":
            return super().astream_events(input, config, version=version, **kwargs)
        return self._projected(input, config, kwargs)

    async def _projected(
        self, given: Any, config: RunnableConfig | None, kwargs: dict[str, Any]
    ) -> Any:
        from plait.stream.of_model import astream_of  # as above

        _warn()
        return astream_of(aiter(self.astream(given, config, **kwargs)))


def _warn() -> None:
    warn(
        'Streams of version "v3" are experimental in LangChain, and may change with it.',
        BetaWarning,
        stacklevel=3,
    )


__all__ = ["Projected"]
