"""Settings of the whole program: debug output, and the cache that models use by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plait.callbacks.context import everywhere

if TYPE_CHECKING:
    from plait.caches import BaseCache

_llm_cache: list[BaseCache | None] = [None]
_verbose = [False]
_debugging: list[Callable[[], Any]] = []
"""What gives the tracer of `set_debug`, while that is on."""


def set_llm_cache(value: BaseCache | None) -> None:
    """Let all models of this program that say nothing else use a cache; None ends it.

    >>> from plait.caches import InMemoryCache
    >>> set_llm_cache(InMemoryCache())
    >>> set_llm_cache(None)
    """
    _llm_cache[0] = value


def get_llm_cache() -> BaseCache | None:
    """The cache given to `set_llm_cache`, if any."""
    return _llm_cache[0]


def set_debug(value: bool) -> None:
    """Tell on the standard error what every run of this program does, or stop telling.

    Runs that have begun are told as they were when they began. For one run, give its config a
    `plait.tracing.ConsoleTracer`.

    >>> set_debug(True); get_debug()
    True
    >>> set_debug(False); get_debug()
    False
    """
    if value and not _debugging:
        from plait.tracing.console import ConsoleTracer  # only programs that debug need it

        tracer = ConsoleTracer()
        _debugging.append(lambda: tracer)
        everywhere.extend(_debugging)
    elif not value and _debugging:
        everywhere.remove(_debugging.pop())


def get_debug() -> bool:
    """Whether `set_debug` is on."""
    return bool(_debugging)


def set_verbose(value: bool) -> None:
    """Remember what programs read with `get_verbose`; models and runnables print nothing by it."""
    _verbose[0] = value


def get_verbose() -> bool:
    """What `set_verbose` was told."""
    return _verbose[0]


__all__ = [
    "get_debug",
    "get_llm_cache",
    "get_verbose",
    "set_debug",
    "set_llm_cache",
    "set_verbose",
]
