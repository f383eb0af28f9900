"""Batches of what an iterable gives."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from plait.errors import InvalidValueError

T = TypeVar("T")


def batch_iterate(size: int | None, iterable: Iterable[T]) -> Iterator[list[T]]:
    """Lists of `size` items, the last one shorter; None: one list of all.

    Raises:
        InvalidValueError: `size` is not above 0.

    >>> list(batch_iterate(2, "abc"))
    [['a', 'b'], ['c']]
    """
    check_size(size)
    items = iter(iterable)
    while batch := list(islice(items, size)):
        yield batch


def check_size(size: int | None) -> None:
    """Raise InvalidValueError unless batches may have this size."""
    if size is not None and size <= 0:
        raise InvalidValueError(f"A batch has 1 item or more, not {size}.")


__all__ = ["batch_iterate", "check_size"]
