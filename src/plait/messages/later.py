"""Functions over messages that, called without messages, become a step to be called later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Later:
    """A function over messages with its options bound: call it, or use `invoke` / `ainvoke`.

    `plait.runnables` accepts it in a chain, as it accepts any callable.
    """

    __slots__ = ("function", "options")

    def __init__(self, function: Callable[..., list[Any]], options: dict[str, Any]) -> None:
        self.function = function
        self.options = options

    def __call__(self, messages: Any) -> list[Any]:
        return self.function(messages, **self.options)

    def invoke(self, input: Any, config: Any = None, **ignored: Any) -> list[Any]:
        """The function's result for these messages."""
        return self(input)

    async def ainvoke(self, input: Any, config: Any = None, **ignored: Any) -> list[Any]:
        """The same, for asynchronous callers."""
        return self(input)

    def __repr__(self) -> str:
        return f"Later({self.function.__name__}, {self.options!r})"
