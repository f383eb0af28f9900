"""Which task is running here: the context variable behind `interrupt()`, `get_config()` and co.

A driver sets `current_scope` in the context of every task, inline or in a thread, so code inside a
node finds its run without being handed anything.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from plait.forks import forget_in_child

if TYPE_CHECKING:
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

    def on_thread(self, call: Callable[[Any, Any], Any], value: Any) -> Any:
        """Call sync code of the task with `value` and this scope, in a thread that the rest of the
        task waits for: it is where the task runs meanwhile."""
        ...

    def awaiting(self) -> Callable[[Coroutine[Any, Any, Any]], Any] | None:
        """How sync code of an async run, in its thread, gets what a coroutine comes to."""
        ...


current_scope: ContextVar[Scope | None] = ContextVar("plait_scope", default=None)

Here: TypeAlias = tuple[int, int]
"""A thread, and an asyncio task in it (0: none)."""


def thread_of_control() -> Here:
    """Which thread and asyncio task this is: two calls that differ in it may race."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return get_ident(), 0
    return get_ident(), id(asyncio.current_task())


_branch: ContextVar[tuple[Here, str] | None] = ContextVar("plait_branch", default=None)


def begin_branch(index: int) -> Token[tuple[Here, str] | None]:
    """What runs here from now on is one of several calls that its task makes at once. Whichever
    thread it got, its questions are told from those of the others by its place among them."""
    outer = _branch.get()
    path = str(index) if outer is None else f"{outer[1]}/{index}"
    return _branch.set((thread_of_control(), path))


def end_branch(token: Token[tuple[Here, str] | None]) -> None:
    """The call that `begin_branch` began has ended."""
    _branch.reset(token)


def branch_of(here: Here) -> str | None:
    """The place among such calls of the one that runs here; None where what runs is none of them,
    or races with others inside of one."""
    branch = _branch.get()
    return branch[1] if branch is not None and branch[0] == here else None


current_tool_call: ContextVar[str | None] = ContextVar("plait_tool_call", default=None)
"""The id of the tool call whose code runs here: it tells the questions of tools apart that one
task runs at once."""

forget_in_child(current_scope)
forget_in_child(current_tool_call)
forget_in_child(_branch)


def heard(scope: Scope, result: Any) -> Any:
    """A result of a task's code, shown to those who listen; returns it."""
    if scope.heard is not None:
        scope.heard.result = result
    return result
