"""What may stand where a runnable is asked for: types for signatures, and nothing that runs."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, Concatenate, Protocol, TypeAlias, TypeVar

from plait.runnables.base import Runnable

Given = TypeVar("Given")
Made = TypeVar("Made")

FunctionOf: TypeAlias = (
    Callable[
        Concatenate[Given, ...],
        Runnable[Any, Made] | Awaitable[Made] | Iterator[Made] | AsyncIterator[Made] | Made,
    ]
    | Callable[[Any], Made]  # a lambda: checkers would take its parameter for a type variable
)
"""A function of an input: its output is what it returns, awaits or yields, or a runnable makes."""


class Guest(Protocol):
    """A runnable of another library."""

    @property
    def invoke(self) -> Callable[..., Any]: ...
    @property
    def ainvoke(self) -> Callable[..., Any]: ...


RunnableLike: TypeAlias = Runnable[Given, Made] | FunctionOf[Given, Made] | Mapping[str, Any]
"""What `|` makes a runnable of: a runnable, a function, or a dict of them."""

__all__ = ["FunctionOf", "Guest", "RunnableLike"]
