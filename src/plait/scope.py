"""Which task is running here: the context variable behind `interrupt()`, `get_config()` and co.

A driver sets `current_scope` in the context of every task, inline or in a thread, so code inside a
node finds its run without being handed anything.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol


class Scope(Protocol):
    """What code inside a running task may ask of its run."""

    pushed: list[tuple[str, Any]] | None
    """What the code wrote to the state before it returned."""

    def interrupt(self, value: Any, key: str | None, response_schema: Any) -> Any:
        """Return the answer to this question, or raise GraphInterrupt."""
        ...

    def config(self) -> Any:
        """The task's RunnableConfig (made when first asked for)."""
        ...

    def runtime(self) -> Any:
        """The task's Runtime (made when first asked for)."""
        ...

    def extras(self) -> dict[str, Any]:
        """The extra keywords of the call of the graph."""
        ...

    def write_custom(self, chunk: Any) -> None:
        """Send a chunk to the `custom` stream."""
        ...


current_scope: ContextVar[Scope | None] = ContextVar("plait_scope", default=None)
