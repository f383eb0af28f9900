"""Which task is running here: the context variable behind `interrupt()`, `get_config()` and co.

A driver sets `current_scope` in the context of every task, inline or in a thread, so code inside a
node finds its run without being handed anything.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from plait.common.forks import forget_in_child

if TYPE_CHECKING:
    from plait.common.belongings import Belongings
    from plait.errors import NodeError
    from plait.timers import Timer


class Heard(Protocol):
    """A task that somebody listens to: its code and its path functions run as told runs."""

    result: Any
    """What the code returned; whoever calls the code sets it."""

    def call(self, call: Callable[..., Any]) -> Any:
        """Run the task's code."""
        ...

    def acall(self, call: Callable[..., Awaitable[Any]]) -> Coroutine[Any, Any, Any]:
        """Run the task's async code."""
        ...

    def route(self, choose: Callable[[], Any], name: str | None, place: int, state: Any) -> Any:
        """Run a path function, `place` steps after the task's own code."""
        ...

    def aroute(
        self, choose: Callable[[], Awaitable[Any]], name: str, place: int, state: Any
    ) -> Awaitable[Any]:
        """Run an async path function."""
        ...


class Scope(Protocol):
    """What code inside a running task may ask of its run."""

    pushed: list[tuple[str, Any]] | None
    """What the code wrote to the state before it returned."""

    heard: Heard | None
    """How those who listen are told of the task; None where nobody listens."""

    def interrupt(
        self, value: Any, key: str | None, response_schema: Any, timer: Timer | None = None
    ) -> Any:
        """Return the answer to this question, or raise GraphInterrupt."""
        ...

    def config(self) -> Any:
        """The task's RunnableConfig (made when first asked for)."""
        ...

    def is_untold(self) -> bool:
        """Whether the code runs under the config of its run alone, and nobody listens to it."""
        ...

    def runtime(self) -> Any:
        """The task's Runtime (made when first asked for)."""
        ...

    def extras(self) -> dict[str, Any]:
        """The extra keywords of the call of the graph."""
        ...

    def failure(self) -> NodeError:
        """Of an error handler: what it handles."""
        ...

    def write_custom(self, chunk: Any) -> None:
        """Send a chunk to the `custom` stream."""
        ...

    def emit_token(
        self, token: Any, id: str | None, tags: Sequence[str], metadata: Mapping[str, Any]
    ) -> Any:
        """Send a token to the `messages` stream; returns the chunk that was sent."""
        ...

    async def room(self) -> None:
        """Wait until the stream of the run has room for more."""
        ...

    def belongings(self) -> Belongings | None:
        """What the tasks of the run share until it ends; None where no task runs."""
        ...

    def awaiting(self) -> Callable[[Coroutine[Any, Any, Any]], Any] | None:
        """How sync code of an async run, in its thread, gets what a coroutine comes to."""
        ...


Getter: TypeAlias = Callable[[Scope], Any]

PROVIDED: Mapping[str, Getter] = {
    "config": lambda scope: scope.config(),
    "runtime": lambda scope: scope.runtime(),
    "writer": lambda scope: scope.write_custom,
    "store": lambda scope: scope.runtime().store,
    "previous": lambda scope: scope.runtime().previous,
}
"""What a run gives to functions that have a parameter of the name."""

current_scope: ContextVar[Scope | None] = ContextVar("plait_scope", default=None)

Here: TypeAlias = tuple[int, int]
"""A thread, and an asyncio task in it (0: none)."""

_lent: ContextVar[tuple[int, Here] | None] = ContextVar("plait_lent", default=None)


def thread_of_control() -> Here:
    """Which thread and asyncio task this is: two calls that differ in it may race."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        ident, lent = get_ident(), _lent.get()
        return lent[1] if lent is not None and lent[0] == ident else (ident, 0)
    return get_ident(), id(asyncio.current_task())


def lend_thread(here: Here) -> None:
    """What runs in this thread, in this context, is awaited by `here`, which goes on with it: the
    two never race, and are one thread of control."""
    _lent.set((get_ident(), here))


current_tool_call: ContextVar[str | None] = ContextVar("plait_tool_call", default=None)
"""The id of the tool call whose code runs here: it tells the questions of tools apart that one
task runs at once."""

forget_in_child(current_scope)
forget_in_child(current_tool_call)
forget_in_child(_lent)


def heard(scope: Scope, result: Any) -> Any:
    """A result of a task's code, shown to those who listen; returns it."""
    if scope.heard is not None:
        scope.heard.result = result
    return result
