"""`RunnableLambda`: a function as a runnable, and how user functions are looked at.

Functions are read by their code objects: `inspect` costs more to import than this package.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextvars import Context, copy_context
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from plait.callbacks.context import var_child_runnable_config
from plait.errors import GraphRecursionError
from plait.runnables.base import Input, Output, Runnable
from plait.runnables.config import RunnableConfig, patch_config, run_in_executor
from plait.runnables.runs import (
    acall_as_run,
    add_chunks,
    astream_as_run,
    call_as_run,
    stream_as_run,
)

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun

_VARKEYWORDS, _GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x08, 0x20, 0x80, 0x200


def code_of(func: Any) -> CodeType | None:
    """The code that a call of `func` runs: of a function, method, partial or callable object."""
    while isinstance(func, partial):
        func = cast("partial[Any]", func).func
    func = getattr(func, "__func__", func)
    if not hasattr(func, "__code__"):
        func = cast("Any", type(func)).__call__
    return getattr(func, "__code__", None)


def is_async(func: Any) -> bool:
    """Whether a call of `func` gives a coroutine or an async generator."""
    code = code_of(func)
    return code is not None and bool(code.co_flags & (_COROUTINE | _ASYNC_GENERATOR))


def is_generator(func: Any) -> bool:
    """Whether a call of `func` gives a generator: a runnable streams what it yields."""
    code = code_of(func)
    return code is not None and bool(code.co_flags & _GENERATOR)


def accepts(func: Any, name: str) -> bool:
    """Whether `func` names a parameter `name` (a decorator's `**kwargs` passes it on).

    >>> accepts(lambda x, config: x, "config"), accepts(lambda x, **kwargs: x, "config")
    (True, False)
    """
    code = code_of(func)
    if code and name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return True
    wrapped = getattr(func, "__wrapped__", None)
    passes_on = code is None or bool(code.co_flags & _VARKEYWORDS)
    return wrapped is not None and passes_on and accepts(wrapped, name)


class RunnableLambda(Runnable[Input, Output]):
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
        func: Callable[..., Any],
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

    def __repr__(self) -> str:
        return f"RunnableLambda({self.name or '...'})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunnableLambda):
            return False
        its = cast("RunnableLambda[Any, Any]", other)
        return self.func == its.func and self.afunc == its.afunc

    def __hash__(self) -> int:
        return hash((self.func, self.afunc))

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Call the function.

        Raises:
            TypeError: The function is async: use `ainvoke`.
        """

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Any:
            output = call_function(self._sync(), input, config, run, kwargs)
            if isinstance(output, Chunks):
                return _sum(output)
            if isinstance(output, Runnable):
                inner = cast("Runnable[Any, Any]", output)
                return inner.invoke(input, _one_level_deeper(config), **kwargs)
            return output

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Call the async function, else the sync one on a thread."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> Any:
            output = await acall_function(self.func, self.afunc, input, config, run, kwargs)
            if isinstance(output, AsyncIterator):
                total: Any = None
                async for chunk in cast("AsyncIterator[Any]", output):
                    total = add_chunks(total, chunk)
                return total
            if isinstance(output, Runnable):
                inner = cast("Runnable[Any, Any]", output)
                return await inner.ainvoke(input, _one_level_deeper(config), **kwargs)
            return output

        return await acall_as_run(work, self.get_name(), input, config)

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Yield what a generator function yields, as it comes; of another function, its output."""

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Iterator[Any]:
            output = call_function(self._sync(), input, config, run, kwargs)
            if isinstance(output, Chunks):
                yield from output
            elif isinstance(output, Runnable):
                inner = cast("Runnable[Any, Any]", output)
                yield from inner.stream(input, _one_level_deeper(config), **kwargs)
            else:
                yield output

        return stream_as_run(work, self.get_name(), input, config)

    async def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Yield what an async generator function yields; of another function, its output."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> AsyncIterator[Any]:
            output = await acall_function(self.func, self.afunc, input, config, run, kwargs)
            if isinstance(output, AsyncIterator):
                async for chunk in cast("AsyncIterator[Any]", output):
                    yield chunk
                return
            if isinstance(output, Runnable):
                inner = cast("Runnable[Any, Any]", output)
                async for chunk in inner.astream(input, _one_level_deeper(config), **kwargs):
                    yield chunk
            else:
                yield output

        async for chunk in astream_as_run(work, self.get_name(), input, config):
            yield chunk

    def _sync(self) -> Callable[..., Any]:
        if self.func is None:
            raise TypeError(
                f"{self.get_name()} is a coroutine function and cannot be invoked synchronously. "
                "Use `ainvoke` or `astream` instead."
            )
        return self.func


def call_function(
    func: Callable[..., Any],
    input: Any,
    config: RunnableConfig,
    run: Any,
    kwargs: Mapping[str, Any],
) -> Any:
    """Call a user's function in a context of its own, with `config` as what children inherit.

    It also gets the arguments it asks for by name. Of a generator function
    the `Chunks` come back.
    """
    context = copy_context()
    context.run(var_child_runnable_config.set, config)
    output = context.run(func, input, **_injected(func, config, run, kwargs))
    if is_generator(func):
        return Chunks(output, context)
    return output


async def acall_function(
    func: Callable[..., Any] | None,
    afunc: Callable[..., Any] | None,
    input: Any,
    config: RunnableConfig,
    run: Any,
    kwargs: Mapping[str, Any],
) -> Any:
    """The async twin: awaits `afunc`, else calls `func` on a thread and adds up its chunks."""
    if afunc is None:
        assert func is not None
        sync_run = None if run is None else run.get_sync()

        def call() -> Any:
            output = call_function(func, input, config, sync_run, kwargs)
            return _sum(output) if isinstance(output, Chunks) else output

        return await run_in_executor(config, call)
    output = afunc(input, **_injected(afunc, config, run, kwargs))
    if isinstance(output, AsyncIterator):
        return _with_config(cast("AsyncIterator[Any]", output), config)
    token = var_child_runnable_config.set(config)
    try:
        return await output
    finally:
        var_child_runnable_config.reset(token)


def _injected(
    func: Any, config: RunnableConfig, run: Any, kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The keyword arguments of a call: the caller's, and what the function asks for by name."""
    out = dict(kwargs)
    if accepts(func, "config"):
        out["config"] = config
    if accepts(func, "run_manager"):
        out["run_manager"] = _unheard(func) if run is None else run
    return out


def _unheard(func: Any) -> Any:
    from plait.callbacks import manager  # loads asyncio; rarely needed

    if is_async(func):
        return manager.AsyncCallbackManagerForChainRun.get_noop_manager()
    return manager.CallbackManagerForChainRun.get_noop_manager()


def _one_level_deeper(config: RunnableConfig) -> RunnableConfig:
    left = config.get("recursion_limit", 0) - 1
    if left <= 0:
        raise GraphRecursionError(
            "A function returned a runnable that returned a runnable, and so on, deeper than "
            "`recursion_limit` allows. Set a higher one in the config if that is meant."
        )
    return patch_config(config, recursion_limit=left)


class Chunks:
    """What a generator function yields, each made in the call's context, not in the reader's."""

    __slots__ = ("_chunks", "_context")

    def __init__(self, chunks: Iterator[Any], context: Context) -> None:
        self._chunks = chunks
        self._context = context

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._context.run(next, self._chunks)


async def _with_config(chunks: AsyncIterator[Any], config: RunnableConfig) -> AsyncIterator[Any]:
    """The same chunks, each made while `config` is the one that children inherit."""
    while True:
        token = var_child_runnable_config.set(config)
        try:
            chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        finally:
            var_child_runnable_config.reset(token)
        yield chunk


def _sum(chunks: Iterator[Any]) -> Any:
    total: Any = None
    for chunk in chunks:
        total = add_chunks(total, chunk)
    return total
