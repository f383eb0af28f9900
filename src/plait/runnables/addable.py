"""Chunks that add up: `AddableDict`, and the sums of streams."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, cast


class AddableDict(dict[str, Any]):
    """A dict that adds: values under the same key add up; None adds nothing.

    Raises:
        TypeError: When added, if two values under one key do not add.

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
        if (old := out.get(key)) is None:
            out[key] = value
        elif value is not None:
            try:
                out[key] = old + value
            except TypeError as error:
                raise TypeError(
                    f"The values under the key {key!r} do not add: one is of type "
                    f"{type(old).__name__}, the next of type {type(value).__name__}."
                ) from error
    return out


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

    Of dicts, only the values that do not add give way to the later ones: the other keys stay.

    >>> add_chunks(None, "a"), add_chunks("a", "b"), add_chunks("a", {"b": 1})
    ('a', 'ab', {'b': 1})
    >>> add_chunks(AddableDict(a=1, b="x"), AddableDict(a="y"))
    {'a': 'y', 'b': 'x'}
    """
    if total is None:
        return chunk
    try:
        return total + chunk
    except TypeError:
        if isinstance(total, AddableDict) and isinstance(chunk, dict):
            return _updated(total, cast("dict[str, Any]", chunk))
        return chunk


def _updated(left: AddableDict, right: dict[str, Any]) -> AddableDict:
    out = AddableDict(left)
    for key, value in right.items():
        if value is not None or key not in out:
            out[key] = add_chunks(out.get(key), value)
    return out


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
