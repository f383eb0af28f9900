"""Handles of `@task` calls: futures that wait in the way their driver can."""

from __future__ import annotations

from collections.abc import Generator
from threading import Event
from typing import Any, Protocol

from plait.constants import RETURN
from plait.engine.tasks import Task


class Pumping(Protocol):
    """A driver whose own thread runs the caller, so that waiting must keep it going."""

    def pump(self) -> None: ...


def result_of(task: Task) -> Any:
    """What a settled call returned; raises what it raised."""
    if task.error is not None:
        raise task.error
    for channel, value in task.writes:
        if channel == RETURN:
            return value
    return None


class ThreadCall:
    """A call made from sync code. `result()` blocks (keeping an inline run going)."""

    def __init__(self, pumping: Pumping | None) -> None:
        self._pumping = pumping
        self._task: Task | None = None
        self._settled = None if pumping is not None else Event()

    def settle(self, task: Task) -> None:
        """The call has its outcome."""
        self._task = task
        if self._settled is not None:
            self._settled.set()

    def done(self) -> bool:
        """Whether the call has its outcome."""
        return self._task is not None

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the outcome: returns what the task returned or raises what it raised.

        Raises:
            TimeoutError: nothing after `timeout` seconds.
        """
        if self._settled is not None:
            if not self._settled.wait(timeout):
                raise TimeoutError(f"The task did not finish within {timeout} s.")
        else:
            assert self._pumping is not None
            while self._task is None:
                self._pumping.pump()
        assert self._task is not None
        return result_of(self._task)

    def __await__(self) -> Generator[Any, Any, Any]:
        while self._task is None:
            yield self
        return result_of(self._task)


__all__ = ["ThreadCall", "result_of"]
