"""Settings of the whole program: the cache that models use unless they have their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plait.caches import BaseCache

_llm_cache: list[BaseCache | None] = [None]


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


__all__ = ["get_llm_cache", "set_llm_cache"]
