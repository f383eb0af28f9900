"""Handles of `@task` calls: futures that wait in the way their driver can.

Each knows whether anybody has heard of its outcome (`heard`): code that went on after a question
that it heard of has swallowed it; code that never asked has not.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, Protocol

from plait.constants import RETURN
from plait.engine.tasks import Task


def result_of(task: Task) -> Any:
    """What a settled call returned; raises what it raised."""
    if task.error is not None:
        raise task.error
    for channel, value in task.writes:
        if channel == RETURN:
            return value
    return None


class ThreadCall(Future[Any]):
    """A call made from sync code: a `concurrent.futures.Future` that its run settles."""

    def __init__(self) -> None:
        super().__init__()
        self.context = copy_context()
        self.heard = False

    def running(self) -> bool:
        """Whether the call has no outcome yet: it starts when it is made."""
        return not self.done()

    def cancel(self) -> bool:
        """False: what has started cannot be called off."""
        return False

    def settle(self, task: Task) -> None:
        """The call has its outcome."""
        if task.error is not None:
            self.set_exception(task.error)
        else:
            self.set_result(result_of(task))

    def was_told(self) -> None:
        """Its run has warned of its error, which nobody else tells of."""

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the outcome: returns what the task returned or raises what it raised.

        Raises:
            TimeoutError: nothing after `timeout` seconds.
        """
        try:
            return super().result(timeout)
        finally:
            self.heard = self.done()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the outcome: returns what the task raised, or None.

        Raises:
            TimeoutError: nothing after `timeout` seconds.
        """
        try:
            return super().exception(timeout)
        finally:
            self.heard = self.done()


class Pumping(Protocol):
    """A driver whose own thread runs the caller, so that waiting must keep it going."""

    def pump(self) -> None: ...


class PumpedCall:
    """A call whose waiting keeps its run going: all of a simulation is one thread."""

    def __init__(self, pumping: Pumping) -> None:
        self.context = copy_context()
        self.heard = False
        self._pumping = pumping
        self._task: Task | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    def settle(self, task: Task) -> None:
        """The call has its outcome."""
        self._task = task
        for callback in self._callbacks:
            callback(self)

    def was_told(self) -> None:
        """Its run has warned of its error, which nobody else tells of."""

    def done(self) -> bool:
        """Whether the call has its outcome."""
        return self._task is not None

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        """Have `callback(call)` called once there is an outcome."""
        if self._task is not None:
            callback(self)
        else:
            self._callbacks.append(callback)

    def result(self, timeout: float | None = None) -> Any:
        """Go on until there is an outcome: returns it or raises it."""
        while self._task is None:
            self._pumping.pump()
        self.heard = True
        return result_of(self._task)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Go on until there is an outcome: returns what the task raised, or None."""
        while self._task is None:
            self._pumping.pump()
        self.heard = True
        return self._task.error

    def __await__(self) -> Generator[Any, Any, Any]:
        while self._task is None:
            yield self
        self.heard = True
        return result_of(self._task)


__all__ = ["PumpedCall", "ThreadCall", "result_of"]
