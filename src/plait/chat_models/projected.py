"""Chat models whose answers are read by what one wants of them: `stream_events(version="v3")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import UUID
from warnings import warn

from plait.common.ids import new_id
from plait.messages import AIMessage
from plait.runnables.base import Runnable
from plait.runnables.config import ensure_config
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
        run, config = self.__heard_run("CallbackManager", config, kwargs)
        return stream_of(iter(self.stream(input, config, **kwargs)), run)

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
        return self.__projected(input, config, kwargs)

    async def __projected(
        self, given: Any, config: RunnableConfig | None, kwargs: dict[str, Any]
    ) -> Any:
        from plait.stream.of_model import astream_of  # as above

        _warn()
        run, config = self.__heard_run("AsyncCallbackManager", config, kwargs)
        return astream_of(aiter(self.astream(given, config, **kwargs)), run)

    def __heard_run(
        self, kind: str, config: RunnableConfig | None, kwargs: dict[str, Any]
    ) -> tuple[Any, RunnableConfig | None]:
        """The manager of the run that is about to start, and the config that gives it its id;
        None and the config as it was, if nobody hears the run."""
        model, full = cast("Any", self), ensure_config(config)
        if not model._is_heard(full):
            return None, config
        from plait.callbacks import manager

        run_id = full.get("run_id") or UUID(new_id())
        given = dict(kwargs)
        stop = given.pop("stop", None)
        made = model._model_manager(getattr(manager, kind), full, stop, given)
        run = getattr(manager, f"{kind}ForLLMRun")(**made.run_fields(run_id))
        return run, cast("RunnableConfig", {**(config or {}), "run_id": run_id})


def _warn() -> None:
    warn(
        'Streams of version "v3" are experimental in LangChain, and may change with it.',
        BetaWarning,
        stacklevel=3,
    )


__all__ = ["Projected"]
