"""The names of `langchain_core.runnables.utils`, for programs that import them from there."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from plait.runnables.addable import AddableDict, aadd, add
from plait.runnables.base import Input, Output
from plait.runnables.calling import accepts, is_async, is_async_generator
from plait.runnables.fields import (
    AnyConfigurableField,
    ConfigurableField,
    ConfigurableFieldMultiOption,
    ConfigurableFieldSingleOption,
    ConfigurableFieldSpec,
    get_unique_config_specs,
)


def accepts_config(callable: Callable[..., Any]) -> bool:
    """Whether a function has a parameter `config`."""
    return accepts(callable, "config")


def accepts_run_manager(callable: Callable[..., Any]) -> bool:
    """Whether a function has a parameter `run_manager`."""
    return accepts(callable, "run_manager")


def is_async_callable(func: Any) -> bool:
    """Whether a call of `func` gives a coroutine.

    >>> async def ask(question): ...
    >>> is_async_callable(ask), is_async_callable(len)
    (True, False)
    """
    return is_async(func) and not is_async_generator(func)


async def gated_coro(semaphore: asyncio.Semaphore, coro: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns, which waits for its turn first."""
    async with semaphore:
        return await coro


async def gather_with_concurrency(n: int | None, *coros: Coroutine[Any, Any, Any]) -> list[Any]:
    """What coroutines return, of which `n` at most run at the same time (None: all of them)."""
    if n is None:
        return await asyncio.gather(*coros)
    semaphore = asyncio.Semaphore(n)
    return await asyncio.gather(*(gated_coro(semaphore, coro) for coro in coros))


__all__ = [
    "AddableDict",
    "AnyConfigurableField",
    "ConfigurableField",
    "ConfigurableFieldMultiOption",
    "ConfigurableFieldSingleOption",
    "ConfigurableFieldSpec",
    "Input",
    "Output",
    "aadd",
    "accepts_config",
    "accepts_run_manager",
    "add",
    "gated_coro",
    "gather_with_concurrency",
    "get_unique_config_specs",
    "is_async_callable",
    "is_async_generator",
]
