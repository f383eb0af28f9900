"""Closing what nobody reads any more, and what a `with` is for."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from plait.objects.abstract import Abstract

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

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

    The collector may find it in a circle with the one that reads it, and closes them in any order:
    it is closed on the loop then, by whichever comes first.
    """

    @wraps(make)
    def started(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        chunks = make(*args, **kwargs)
        first, last = sys.get_asyncgen_hooks()
        asyncio: Any = sys.modules.get("asyncio")  # where it is not loaded, no loop runs
        loop = asyncio and asyncio._get_running_loop()
        sys.set_asyncgen_hooks(None, loop and partial(_collected, loop))
        try:
            chunks.asend(None).send(None)
        except StopIteration:  # so it hands out what it yields
            pass
        finally:
            sys.set_asyncgen_hooks(first, last)
        return chunks

    return started


def _collected(loop: AbstractEventLoop, chunks: AsyncGenerator[Any, None]) -> None:
    """Close a generator that the collector found: on its loop, as long as that runs."""
    if loop.is_running():
        loop.call_soon_threadsafe(lambda: loop.create_task(aclose(chunks)))
        return
    closing = chunks.aclose()
    with suppress(StopIteration):  # its end; else it awaits what no loop brings about any more
        closing.send(None)


__all__ = ["STARTED", "ClosedAtEitherEnd", "ClosedAtEnd", "aclose", "read_inside"]
