"""Chunks that add up: `AddableDict`, and the sums of streams."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any


class AddableDict(dict[str, Any]):
    """A dict that adds: values under the same key add up, else the later one wins.

    >>> AddableDict(a="x") + AddableDict(a="y", b=1)
    {'a': 'xy', 'b': 1}
    """

    def __add__(self, other: dict[str, Any]) -> "AddableDict":
        return _united(self, other)

    def __radd__(self, other: dict[str, Any]) -> "AddableDict":
        return _united(other, self)


def _united(left: dict[str, Any], right: dict[str, Any]) -> AddableDict:
    out = AddableDict(left)
    for key, value in right.items():
        out[key] = value if out.get(key) is None else _sum_of_values(out[key], value)
    return out


def _sum_of_values(old: Any, new: Any) -> Any:
    if new is None:
        return old
    try:
        return old + new
    except TypeError:
        return new


def add(addables: Iterable[Any]) -> Any:
    """The sum of the chunks; None if there are none.

    Raises:
        TypeError: Two of them do not add.

    >>> add(["a", "b"]), add([])
    ('ab', None)
    """
    total: Any = None
    for chunk in addables:
        total = chunk if total is None else total + chunk
    return total


async def aadd(addables: AsyncIterable[Any]) -> Any:
    """The async twin of `add`."""
    total: Any = None
    async for chunk in addables:
        total = chunk if total is None else total + chunk
    return total


def add_chunks(total: Any, chunk: Any) -> Any:
    """`total + chunk`, or the chunk alone if there is no total yet or they do not add.

    >>> add_chunks(None, "a"), add_chunks("a", "b"), add_chunks("a", {"b": 1})
    ('a', 'ab', {'b': 1})
    """
    if total is None:
        return chunk
    try:
        return total + chunk
    except TypeError:
        return chunk


def add_all(chunks: Iterator[Any]) -> Any:
    """The sum of the chunks; None if there are none."""
    total: Any = None
    for chunk in chunks:
        total = add_chunks(total, chunk)
    return total


async def aadd_all(chunks: AsyncIterator[Any]) -> Any:
    """The async twin of `add_all`."""
    total: Any = None
    async for chunk in chunks:
        total = add_chunks(total, chunk)
    return total
