"""`RunnableParallel`: several runnables with the same input, their outputs in one dict."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from plait.callbacks.context import has_listeners
from plait.common.closing import STARTED, aclose, read_inside
from plait.errors import InvalidValueError
from plait.objects.model_face import ComparedFields
from plait.runnables.addable import AddableDict
from plait.runnables.base import Input, Runnable, coerce_to_runnable
from plait.runnables.config import RunnableConfig, ensure_config
from plait.runnables.runs import (
    acall_as_run,
    acall_child,
    call_as_run,
    call_child,
    child_call,
    child_config,
    unnamed,
)
from plait.runnables.stream_runs import atransform_as_run, transform_as_run
from plait.runnables.transforming import Transforming

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
    from plait.drawing import Graph
    from plait.runnables.fields import ConfigurableFieldSpec


class RunnableParallel(ComparedFields, Transforming[Input, dict[str, Any]]):
    """Several runnables with the same input, at once; their outputs in one dict.

    A dict among the steps of a sequence becomes one of these.

    Args:
        steps__: Key to runnable, function or dict.
        name: The name that handlers see.
        kwargs: More of them.

    >>> RunnableParallel(upper=str.upper, size=len).invoke("hi")
    {'upper': 'HI', 'size': 2}
    """

    __plait_fields__ = ("name", "steps__")

    def __init__(
        self, steps__: Mapping[str, Any] | None = None, *, name: str | None = None, **kwargs: Any
    ) -> None:
        if name is not None and not isinstance(cast("Any", name), str):
            kwargs["name"], name = name, None  # a step that is called so
        merged = {**(steps__ or {}), **kwargs}
        for key in cast("Mapping[Any, Any]", merged):
            if not isinstance(key, str):
                raise InvalidValueError(f"{key!r:.200} is no name of a step: give a str.")
        self.name = name
        self.steps__: dict[str, Runnable[Any, Any]] = {
            key: coerce_to_runnable(step) for key, step in merged.items()
        }

    def __repr__(self) -> str:
        inside = ",\n".join(
            f"  {key}: " + "\n  ".join(repr(step).split("\n")) for key, step in self.steps__.items()
        )
        return f"{{\n{inside}\n}}"

    # --- what it says about itself ---------------------------------------------------------------

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Its own name, else one made of its keys."""
        known = name or self.name or f"RunnableParallel<{','.join(self.steps__)}>"
        return super().get_name(suffix, name=known)

    @property
    def InputType(self) -> Any:
        """That of the first step."""
        return next((step.InputType for step in self.steps__.values()), Any)

    @property
    def OutputType(self) -> Any:
        """A dict."""
        return dict[str, Any]

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """The keys that the steps take, if all take dicts."""
        from plait.runnables.schemas import input_of_parallel  # loads pydantic

        return input_of_parallel(self, self.steps__, config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """The outputs of the steps by key."""
        from plait.runnables.schemas import output_of_parallel  # loads pydantic

        return output_of_parallel(self, self.steps__, config)

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured in the steps."""
        from plait.runnables.fields import specs_of  # few programs configure

        return specs_of(self.steps__.values())

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """The graphs of the steps, side by side."""
        from plait.runnables.pictures import beside  # only what is drawn needs it

        return beside(self, self.steps__, config)

    # --- calls -----------------------------------------------------------------------------------

    def invoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Invoke all steps, on threads."""
        config = ensure_config(config)
        if not has_listeners(config):
            return self.run_unheard(input, unnamed(config))

        def work(
            config: RunnableConfig, run: "CallbackManagerForChainRun | None"
        ) -> dict[str, Any]:
            calls = {
                key: partial(call_child, step, input, config, run, _tag(key), {})
                for key, step in self.steps__.items()
            }
            return _at_once(calls, config)

        return call_as_run(work, self.get_name(), input, config)

    def run_unheard(self, input: Input, config: RunnableConfig) -> dict[str, Any]:
        """`invoke` without listeners."""
        steps = self.steps__.items()
        return _at_once(
            {key: partial(child_call(step), input, config) for key, step in steps}, config
        )

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Invoke all steps, as tasks."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> dict[str, Any]:
            from plait.runnables.batching import arun_all  # loads threading and asyncio

            calls = [
                partial(acall_child, step, input, config, run, _tag(key), {})
                for key, step in self.steps__.items()
            ]
            outputs = await arun_all(calls, config.get("max_concurrency"), False)
            return dict(zip(self.steps__, outputs, strict=True))

        return await acall_as_run(work, self.get_name(), input, config)

    def transform(
        self, input: Iterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[dict[str, Any]]:
        """Give each step all chunks; yield theirs as they come."""

        def work(
            chunks: Iterator[Any], config: RunnableConfig, run: "CallbackManagerForChainRun | None"
        ) -> Iterator[dict[str, Any]]:
            from plait.runnables.merging import Merged, tee  # loads threading and asyncio

            copies = tee(chunks, len(self.steps__))
            streams = {
                key: step.transform(copy, child_config(config, run, _tag(key)))
                for (key, step), copy in zip(self.steps__.items(), copies, strict=True)
            }
            if len(streams) == 1:
                ((key, stream),) = streams.items()
                yield from (AddableDict({key: chunk}) for chunk in stream)
                return
            for key, chunk in Merged(streams, config.get("max_concurrency")):
                yield AddableDict({key: chunk})

        return transform_as_run(work, self.get_name(), input, config)

    def atransform(
        self, input: AsyncIterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[dict[str, Any]]:
        """Give each step all chunks; yield theirs as they come."""

        @read_inside
        async def work(
            chunks: AsyncIterator[Any],
            config: RunnableConfig,
            run: "AsyncCallbackManagerForChainRun | None",
        ) -> AsyncGenerator[dict[str, Any], None]:
            yield STARTED
            from plait.runnables.merging import AsyncMerged, atee  # loads threading and asyncio

            copies = atee(chunks, len(self.steps__))
            streams = {
                key: step.atransform(copy, child_config(config, run, _tag(key)))
                for (key, step), copy in zip(self.steps__.items(), copies, strict=True)
            }
            merged = AsyncMerged(streams, config.get("max_concurrency")).read()
            try:
                async for key, chunk in merged:
                    yield AddableDict({key: chunk})
            finally:
                await aclose(merged)

        return atransform_as_run(work, self.get_name(), input, config)


RunnableMap = RunnableParallel


def _at_once(calls: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
    from plait.runnables.batching import run_all  # loads threading and asyncio

    outputs = run_all(list(calls.values()), config.get("max_concurrency"), False)
    return dict(zip(calls, outputs, strict=True))


def _tag(key: str) -> str:
    return f"map:key:{key}"


__all__ = ["RunnableMap", "RunnableParallel"]
