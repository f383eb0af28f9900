"""Batches of what an async iterable gives."""

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import aclosing
from typing import TypeVar

from plait.utils.iter import check_size

T = TypeVar("T")


async def abatch_iterate(size: int | None, iterable: AsyncIterable[T]) -> AsyncIterator[list[T]]:
    """Lists of `size` items, the last one shorter; None: one list of all.

    Raises:
        InvalidValueError: `size` is not above 0.
    """
    check_size(size)
    batch: list[T] = []
    async for item in iterable:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


__all__ = ["abatch_iterate", "aclosing"]
