"""Threads that see the context variables of who gave them work, as many as a config allows."""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from plait.runnables.config import RunnableConfig

P = ParamSpec("P")
T = TypeVar("T")


class ContextThreadPoolExecutor(ThreadPoolExecutor):
    """A `ThreadPoolExecutor` whose calls see the caller's context: the config they inherit, too."""

    def submit(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Call `fn` on a thread, in a copy of the caller's context."""
        return super().submit(copy_context().run, partial(fn, *args, **kwargs))

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[T]:
        """Call `fn` with each group of arguments on a thread, each in a context of its own."""
        contexts = copy_context()
        return super().map(
            lambda *args: contexts.copy().run(fn, *args),
            *iterables,
            timeout=timeout,
            chunksize=chunksize,
        )


@contextmanager
def get_executor_for_config(
    config: RunnableConfig | None,
) -> Generator[ContextThreadPoolExecutor, None, None]:
    """Threads for the `with` block, at most as many as the config's `max_concurrency`.

    >>> with get_executor_for_config({"max_concurrency": 2}) as threads:
    ...     list(threads.map(len, ["a", "bb"]))
    [1, 2]
    """
    with ContextThreadPoolExecutor((config or {}).get("max_concurrency")) as threads:
        yield threads


__all__ = ["ContextThreadPoolExecutor", "get_executor_for_config"]
