"""Code that runs under a config: what it calls without one of its own inherits this one."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextvars import Context, copy_context
from typing import Any, ParamSpec, TypeVar

from plait.callbacks.context import var_child_runnable_config
from plait.common.closing import STARTED, aclose, read_inside
from plait.runnables.config import RunnableConfig

P = ParamSpec("P")
T = TypeVar("T")


def call_under(
    config: RunnableConfig, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call `func` in a context of its own, with `config` as what children inherit."""
    context = copy_context()
    context.run(var_child_runnable_config.set, config)
    return context.run(func, *args, **kwargs)


async def await_under(config: RunnableConfig, awaitable: Awaitable[T]) -> T:
    """Await with `config` as what children inherit."""
    token = var_child_runnable_config.set(config)
    try:
        return await awaitable
    finally:
        var_child_runnable_config.reset(token)


class Chunks:
    """An iterator whose items are made in the context of its maker, not in the reader's."""

    __slots__ = ("_chunks", "_context")

    def __init__(self, chunks: Iterator[Any], context: Context) -> None:
        self._chunks = chunks
        self._context = context

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._context.run(next, self._chunks)

    def close(self) -> None:
        """Close the generator, if it is one."""
        close = getattr(self._chunks, "close", None)
        if close is not None:
            self._context.run(close)


def made_under(config: RunnableConfig, chunks: Iterator[Any]) -> Chunks:
    """The same chunks, each made while `config` is the one that children inherit."""
    context = copy_context()
    context.run(var_child_runnable_config.set, config)
    return Chunks(chunks, context)


@read_inside
async def held_under(
    chunks: AsyncIterator[Any], config: RunnableConfig
) -> AsyncGenerator[Any, None]:
    """The async twin of `made_under`."""
    yield STARTED
    try:
        while True:
            token = var_child_runnable_config.set(config)
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            finally:
                var_child_runnable_config.reset(token)
            yield chunk
    finally:
        await aclose(chunks)


__all__ = [
    "Chunks",
    "await_under",
    "call_under",
    "held_under",
    "made_under",
]
