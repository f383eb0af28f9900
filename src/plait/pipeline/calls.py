"""Calls of a pipeline as a runnable, so that many of them can be a batch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from plait.runnables.base import Runnable
from plait.runnables.config import ConfigLike

State = dict[str, Any]


class Calls(Runnable[Any, State]):
    """From the input of a pipeline's graph to the state of the graph when it has run.

    Args:
        call: runs the graph.
        acall: its async form.
    """

    def __init__(
        self,
        call: Callable[[Any, ConfigLike | None], State],
        acall: Callable[[Any, ConfigLike | None], Awaitable[State]],
    ) -> None:
        self._call = call
        self._acall = acall

    def invoke(self, input: Any, config: ConfigLike | None = None, **kwargs: Any) -> State:
        return self._call(input, config)

    async def ainvoke(self, input: Any, config: ConfigLike | None = None, **kwargs: Any) -> State:
        return await self._acall(input, config)


__all__ = ["Calls"]
