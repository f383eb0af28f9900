"""Delivering one event to many handlers, from sync and from async code.

Handlers are taken by their method names (langchain_core's work as they are). What a handler raises
is logged, unless its `raise_error` says that it fails the run.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, cast

from plait.callbacks.mixins import SILENT
from plait.messages import get_buffer_string

logger = logging.getLogger("plait.callbacks")


def handle_event(
    handlers: Sequence[Any], event: str, ignored_by: str | None, *args: Any, **kwargs: Any
) -> None:
    """Call `event` on each handler in order; coroutines are run to their end before the next.

    Args:
        handlers: Anything with methods named like the events.
        event: Such as `"on_chain_start"`; a handler without that method is left out.
        ignored_by: The handler attribute that switches this kind of event off, if any.

    Raises:
        Exception: What a handler with `raise_error` raised.
    """
    for handler in handlers:
        method = _method(handler, event, ignored_by)
        if method is None:
            continue
        try:
            answer = method(*args, **kwargs)
            if isawaitable(answer):
                _run_to_end(answer)
        except NotImplementedError as error:
            if event != "on_chat_model_start":
                _failed(handler, event, error)
            else:
                handle_event(
                    [handler], "on_llm_start", "ignore_llm", *_as_text_prompts(args), **kwargs
                )
        except Exception as error:
            _failed(handler, event, error)


async def ahandle_event(
    handlers: Sequence[Any], event: str, ignored_by: str | None, *args: Any, **kwargs: Any
) -> None:
    """The async twin of `handle_event`: inline handlers first, in order, then the others at once.

    A sync handler runs on a thread, so that it cannot block the loop, unless `run_inline` is set.
    """
    tell = partial(_tell, event=event, ignored_by=ignored_by, args=args, kwargs=kwargs)
    others: list[Any] = []
    for handler in handlers:
        if getattr(handler, "run_inline", False):
            await tell(handler)
        else:
            others.append(handler)
    if len(others) == 1 and not iscoroutinefunction(getattr(others[0], event, None)):
        await tell(others[0])
    elif others:  # as tasks of their own: what one sets in its context is not the run's
        await asyncio.gather(*(tell(handler) for handler in others))


async def _tell(
    handler: Any,
    *,
    event: str,
    ignored_by: str | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    method = _method(handler, event, ignored_by)
    if method is None:
        return
    try:
        if iscoroutinefunction(method) or getattr(handler, "run_inline", False):
            answer = method(*args, **kwargs)
        else:
            call = partial(copy_context().run, method, *args, **kwargs)
            answer = await asyncio.get_running_loop().run_in_executor(None, call)
        if isawaitable(answer):
            await answer
    except NotImplementedError as error:
        if event != "on_chat_model_start":
            _failed(handler, event, error)
        else:
            await ahandle_event(
                [handler], "on_llm_start", "ignore_llm", *_as_text_prompts(args), **kwargs
            )
    except Exception as error:
        _failed(handler, event, error)


def _method(handler: Any, event: str, ignored_by: str | None) -> Callable[..., Any] | None:
    if ignored_by is not None and getattr(handler, ignored_by, False):
        return None
    method = getattr(handler, event, None)
    return None if hasattr(method, SILENT) else method


def _failed(handler: Any, event: str, error: Exception) -> None:
    """Called while `error` is being handled: log it, and pass it on if the handler says so."""
    logger.warning("Error in %s.%s callback: %r", type(handler).__name__, event, error)
    if getattr(handler, "raise_error", False):
        raise


def _as_text_prompts(args: tuple[Any, ...]) -> tuple[Any, list[str]]:
    serialized, batches = args[0], cast("list[list[Any]]", args[1])
    return serialized, [get_buffer_string(messages) for messages in batches]


def _run_to_end(answer: Awaitable[Any]) -> None:
    """Run an async handler's coroutine from sync code, under a running event loop too."""

    async def await_it() -> None:
        await answer

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(await_it())
        return
    # This thread's loop is busy running us: another thread has room for a loop.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, asyncio.run, await_it()).result()
