"""`RunnableLambda`: a function as a runnable."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import copy_context
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from plait.callbacks.context import has_listeners, var_child_runnable_config
from plait.common.closing import aclose
from plait.errors import GraphRecursionError
from plait.runnables.addable import aadd_all, add_all
from plait.runnables.base import Input, Output, Runnable
from plait.runnables.calling import (
    acall_function,
    accepts,
    call_function,
    is_async,
    is_generator,
)
from plait.runnables.config import RunnableConfig, ensure_config, patch_config
from plait.runnables.contexts import Chunks
from plait.runnables.runs import acall_as_run, call_as_run, unnamed
from plait.runnables.stream_runs import atransform_as_run, transform_as_run
from plait.runnables.transforming import Transforming

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
    from plait.drawing import Graph
    from plait.runnables.fields import ConfigurableFieldSpec
    from plait.runnables.likes import FunctionOf


class RunnableLambda(Transforming[Input, Output]):
    """A function as a runnable.

    Args:
        func: Takes the input; may also take `config` and `run_manager`. A generator's chunks are
            streamed. A runnable that it returns is invoked with the same input. If async, it is
            `afunc`, and only async calls work.
        afunc: Its async form; without one, async calls run `func` on a thread.
        name: The name that handlers see; by default the function's.

    Raises:
        TypeError: `func` is not callable, or both are async.

    >>> RunnableLambda(lambda text: text.upper()).invoke("hi")
    'HI'
    """

    def __init__(
        self,
        func: "FunctionOf[Input, Output]",
        afunc: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if not callable(func):
            raise TypeError(
                "Expected a callable type for `func`. "
                f"Instead got an unsupported type: {type(func)}"
            )
        if is_async(func):
            if afunc is not None:
                raise TypeError(
                    "`func` is a coroutine function and `afunc` is given too. Pass the sync "
                    "function as `func`, or the async one alone."
                )
            self.func, self.afunc = None, func
        else:
            self.func, self.afunc = func, afunc
        its_name = getattr(func, "__name__", None)
        self.name = name or (None if its_name == "<lambda>" else its_name)
        self._is_plain = self.func is not None and not (
            is_generator(func) or accepts(func, "config") or accepts(func, "run_manager")
        )

    def __repr__(self) -> str:
        if not hasattr(self, "func"):  # a subclass that has not come so far
            return "RunnableLambda(...)"
        from plait.runnables.sources import shown  # reads source text; only for people

        return f"RunnableLambda({shown(self.func) if self.func else f'afunc={shown(self.afunc)}'})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunnableLambda):
            return False
        its = cast("RunnableLambda[Any, Any]", other)
        return self.func == its.func and self.afunc == its.afunc

    def __hash__(self) -> int:
        return hash((self.func, self.afunc))

    # --- what it says about itself ---------------------------------------------------------------

    @property
    def InputType(self) -> Any:
        """The annotation of the function's first parameter."""
        from plait.runnables.schemas import parameter_type  # loads inspect

        return parameter_type(self.func or self.afunc)

    @property
    def OutputType(self) -> Any:
        """The annotation of what the function returns, or yields."""
        from plait.runnables.schemas import returned_type  # loads inspect

        return returned_type(self.func or self.afunc)

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """By the annotation; without one, the keys that the function reads of a dict."""
        from plait.runnables.schemas import input_of_function  # loads pydantic

        return input_of_function(self, self.func or self.afunc)

    @cached_property
    def deps(self) -> list[Runnable[Any, Any]]:
        """The runnables that the function uses: globals, and variables of functions around it."""
        from plait.runnables.sources import used_values  # rarely asked

        values = used_values(self.func or self.afunc)
        return [value for value in values if isinstance(value, Runnable)]

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured in the runnables that the function uses."""
        from plait.runnables.fields import specs_of  # few programs configure

        return specs_of(self.deps)

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """The graphs of the runnables that the function uses; without any, the function alone."""
        from plait.runnables.pictures import alone, beside  # only what is drawn needs it

        if self.deps:
            return beside(self, {str(n): one for n, one in enumerate(self.deps)}, config)
        return alone(self, config)

    # --- calls -----------------------------------------------------------------------------------

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Call the function.

        Raises:
            TypeError: The function is async: use `ainvoke`.
        """
        config = ensure_config(config)
        if not kwargs and not has_listeners(config):
            return self.run_unheard(input, unnamed(config))

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Any:
            output = call_function(self._sync(), input, config, run, kwargs)
            if isinstance(output, Chunks):
                output = add_all(output)
            if isinstance(output, Runnable):
                inner = cast("Runnable[Any, Any]", output)
                return inner.invoke(input, _one_level_deeper(config), **kwargs)
            return output

        return call_as_run(work, self.get_name(), input, config)

    def run_unheard(self, input: Input, config: RunnableConfig) -> Output:
        """`invoke` without listeners."""
        if self._is_plain:
            context = copy_context()
            context.run(var_child_runnable_config.set, config)
            func: Any = self.func
            output: Any = context.run(func, input)
        else:
            output = call_function(self._sync(), input, config, None, {})
            if isinstance(output, Chunks):
                output = add_all(output)
        if isinstance(output, Runnable):
            inner = cast("Runnable[Any, Any]", output)
            return inner.run_unheard(input, _one_level_deeper(config))
        return output

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Call the async function, else the sync one on a thread."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> Any:
            output = await acall_function(self.func, self.afunc, input, config, run, kwargs)
            if isinstance(output, AsyncIterator):
                output = await aadd_all(cast("AsyncIterator[Any]", output))
            if isinstance(output, Runnable):
                inner = cast("Runnable[Any, Any]", output)
                return await inner.ainvoke(input, _one_level_deeper(config), **kwargs)
            return output

        return await acall_as_run(work, self.get_name(), input, config)

    def transform(
        self, input: Iterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """`stream` with the sum of the chunks."""

        def work(
            chunks: Iterator[Any], config: RunnableConfig, run: "CallbackManagerForChainRun | None"
        ) -> Iterator[Any]:
            value = add_all(chunks)
            output = call_function(self._sync(), value, config, run, kwargs)
            if isinstance(output, Chunks):
                yield from output
            elif isinstance(output, Runnable):
                inner = cast("Runnable[Any, Any]", output)
                yield from inner.stream(value, _one_level_deeper(config), **kwargs)
            else:
                yield output

        return transform_as_run(work, self.get_name(), input, config)

    def atransform(
        self, input: AsyncIterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """`astream` with the sum of the chunks."""

        async def work(
            chunks: AsyncIterator[Any],
            config: RunnableConfig,
            run: "AsyncCallbackManagerForChainRun | None",
        ) -> AsyncIterator[Any]:
            value = await aadd_all(chunks)
            output = await acall_function(self.func, self.afunc, value, config, run, kwargs)
            if isinstance(output, Runnable):
                inner = cast("Runnable[Any, Any]", output)
                output = inner.astream(value, _one_level_deeper(config), **kwargs)
            if not isinstance(output, AsyncIterator):
                yield output
                return
            inside = cast("AsyncIterator[Any]", output)
            try:
                async for chunk in inside:
                    yield chunk
            finally:
                await aclose(inside)

        return atransform_as_run(work, self.get_name(), input, config)

    def _sync(self) -> Callable[..., Any]:
        if self.func is None:
            raise TypeError(
                f"{self.get_name()} is a coroutine function and cannot be invoked synchronously. "
                "Use `ainvoke` or `astream` instead."
            )
        return self.func


def _one_level_deeper(config: RunnableConfig) -> RunnableConfig:
    left = config.get("recursion_limit", 0) - 1
    if left <= 0:
        raise GraphRecursionError(
            "A function returned a runnable that returned a runnable, and so on, deeper than "
            "`recursion_limit` allows. Set a higher one in the config if that is meant."
        )
    return patch_config(config, recursion_limit=left)


def chain(func: "FunctionOf[Input, Output]") -> Runnable[Input, Output]:
    """A function, or generator function, as a runnable with its name: as a decorator.

    >>> @chain
    ... def shout(text):
    ...     return text.upper()
    >>> shout.invoke("hi"), shout.get_name()
    ('HI', 'shout')
    """
    return RunnableLambda(func)


__all__ = ["RunnableLambda", "chain"]
