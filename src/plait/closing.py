"""Closing what nobody reads any more, and what a `with` is for."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable
from functools import wraps
from typing import Any, ParamSpec, Self, TypeVar

from plait.abstract import Abstract

P = ParamSpec("P")
T = TypeVar("T")

STARTED: Any = None
"""What a generator that is `read_inside` another yields first, to nobody."""


class ClosedAtEnd(Abstract):
    """Of what has a `close()`: the end of a `with` closes it."""

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ClosedAtEitherEnd(ClosedAtEnd):
    """The same, for `async with` too, where `close()` is quick enough to block the event loop."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


async def aclose(chunks: object) -> None:
    """Close an async generator that nobody reads any more; other iterators have nothing to do.

    One that is at work is left: its event loop has ended meanwhile, and nothing can be awaited.
    """
    close = getattr(chunks, "aclose", None)
    if close is not None and not getattr(chunks, "ag_running", False):
        await close()


def read_inside(
    make: Callable[P, AsyncGenerator[T, None]],
) -> Callable[P, AsyncGenerator[T, None]]:
    """Of async generators that another one reads, and closes: the event loop does not hear of them.

    A loop that ends closes all generators that it knows, at once. One that is to close another then
    finds it "already running", and both are left as they are.

    A generator tells the loop of itself when it is first asked for something. So that this happens
    here, it begins with `yield STARTED`.
    """

    @wraps(make)
    def started(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        chunks = make(*args, **kwargs)
        first, last = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)
        try:
            chunks.asend(None).send(None)
        except StopIteration:  # so it hands out what it yields
            pass
        finally:
            sys.set_asyncgen_hooks(first, last)
        return chunks

    return started


__all__ = ["STARTED", "ClosedAtEitherEnd", "ClosedAtEnd", "aclose", "read_inside"]
