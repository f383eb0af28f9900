"""How a program's own runnables make what they do a run: told to handlers, with a child config."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from plait.runnables.calling import acall_function, arguments_asked_for, call_function
from plait.runnables.config import RunnableConfig
from plait.runnables.runs import acall_as_run, call_as_run
from plait.runnables.stream_runs import atransform_as_run, transform_as_run

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun

T = TypeVar("T")


class OwnRuns:
    """For classes that derive from `Runnable`, under the names that LangChain gives these calls.

    The functions are called with the input, and with `run_manager` and `config` if they have such
    parameters. The config is that of what they call.
    """

    __slots__ = ()

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The name that handlers see."""
        raise NotImplementedError

    def _call_with_config(
        self,
        func: Callable[..., T],
        input_: Any,
        config: RunnableConfig | None,
        run_type: str | None = None,
        serialized: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> T:
        """What `func` makes of the input, as a run of this runnable: what `invoke` may return."""

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> T:
            return call_function(func, input_, config, run, kwargs)

        return call_as_run(work, self.get_name(), input_, config, run_type, serialized)

    async def _acall_with_config(
        self,
        func: Callable[..., Awaitable[T]],
        input_: Any,
        config: RunnableConfig | None,
        run_type: str | None = None,
        serialized: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> T:
        """The async twin, for `ainvoke`."""

        async def work(config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None") -> T:
            return await acall_function(None, func, input_, config, run, kwargs)

        return await acall_as_run(work, self.get_name(), input_, config, run_type, serialized)

    def _transform_stream_with_config(
        self,
        inputs: Iterator[Any],
        transformer: Callable[..., Iterator[T]],
        config: RunnableConfig | None,
        run_type: str | None = None,
        **kwargs: Any,
    ) -> Iterator[T]:
        """What `transformer` makes of chunks, as a run: what `transform` may return."""

        def work(
            chunks: Iterator[Any],
            config: RunnableConfig,
            run: "CallbackManagerForChainRun | None",
        ) -> Iterator[T]:
            return transformer(chunks, **arguments_asked_for(transformer, config, run, kwargs))

        return transform_as_run(work, self.get_name(), inputs, config, run_type)

    def _atransform_stream_with_config(
        self,
        inputs: AsyncIterator[Any],
        transformer: Callable[..., AsyncIterator[T]],
        config: RunnableConfig | None,
        run_type: str | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[T]:
        """The async twin, for `atransform`."""

        def work(
            chunks: AsyncIterator[Any],
            config: RunnableConfig,
            run: "AsyncCallbackManagerForChainRun | None",
        ) -> AsyncIterator[T]:
            return transformer(chunks, **arguments_asked_for(transformer, config, run, kwargs))

        return atransform_as_run(work, self.get_name(), inputs, config, run_type)


__all__ = ["OwnRuns"]
