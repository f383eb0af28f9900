"""The names of `langchain_core.runnables.utils`, for programs that import them from there."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from inspect import isfunction, ismethod
from typing import Any, TypeVar

from plait.common.reflection import signature
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
from plait.runnables.sources import keys_read, lambda_text, nonlocals

T = TypeVar("T")


def accepts_config(callable: Callable[..., Any]) -> bool:
    """Whether a function has a parameter `config`."""
    return accepts(callable, "config")


def accepts_run_manager(callable: Callable[..., Any]) -> bool:
    """Whether a function has a parameter `run_manager`."""
    return accepts(callable, "run_manager")


def accepts_context(callable: Callable[..., Any]) -> bool:
    """Whether a callable has a parameter `context`.

    >>> accepts_context(asyncio.create_task), accepts_context(len)
    (True, False)
    """
    try:
        return "context" in signature(callable).parameters
    except ValueError:  # a builtin whose signature Python does not tell
        return False


def asyncio_accepts_context() -> bool:
    """True: on every Python that plait runs on, `asyncio.create_task` has a parameter `context`."""
    return True


def coro_with_context(
    coro: Coroutine[Any, Any, T], context: Context, *, create_task: bool = False
) -> Awaitable[T]:
    """A coroutine as a task of the running event loop, in a context.

    Args:
        coro: what runs.
        context: what it runs in.
        create_task: is ignored: it is a task in any case.
    """
    return asyncio.get_running_loop().create_task(coro, context=context)


def get_lambda_source(func: Callable[..., Any]) -> str | None:
    """The text of a lambda, or the name of another function (None: neither can be told).

    >>> get_lambda_source(len)
    'len'
    """
    name = getattr(func, "__name__", None)
    return lambda_text(func) if name == "<lambda>" else name


def get_function_first_arg_dict_keys(func: Callable[..., Any]) -> list[str] | None:
    """The keys that a function reads of its first argument (None: it reads none).

    >>> get_function_first_arg_dict_keys(lambda x: x["a"] + x.get("b"))
    ['a', 'b']
    """
    return keys_read(func) or None if isfunction(func) or ismethod(func) else None


def get_function_nonlocals(func: Callable[..., Any]) -> list[Any]:
    """What the globals and outer variables that a function names stand for.

    >>> get_function_nonlocals(lambda x: asyncio.sleep(x)) == [asyncio.sleep]
    True
    """
    return nonlocals(func) if isfunction(func) or ismethod(func) else []


def indent_lines_after_first(text: str, prefix: str) -> str:
    """A text whose lines after the first are indented as far as `prefix` is long.

    >>> indent_lines_after_first("(one,\\ntwo)", "=")
    '(one,\\n two)'
    """
    return text.replace("\n", "\n" + " " * len(prefix))


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
    "accepts_context",
    "accepts_run_manager",
    "add",
    "asyncio_accepts_context",
    "coro_with_context",
    "gated_coro",
    "gather_with_concurrency",
    "get_function_first_arg_dict_keys",
    "get_function_nonlocals",
    "get_lambda_source",
    "get_unique_config_specs",
    "indent_lines_after_first",
    "is_async_callable",
    "is_async_generator",
]
