"""The time of an executor's run: how much is left, and calls that are given up when it is over."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from plait.drivers.env import run_env
from plait.errors import NodeTimeoutError
from plait.func import TaskFunction
from plait.types import TimeoutPolicy

OVER = object()
"""What a call gives that was given up."""

_GRAIN = 1e-4
"""Seconds by which a call may be given up early, or too late to be worth a call."""

_work: ContextVar[Callable[[], Any]] = ContextVar("plait_executor_work")
"""What a call does: the arguments of a step are only what it is recorded under."""


class Clock:
    """The time of one run.

    Args:
        started: When it began, by the monotonic clock; None: now.
        seconds: How long it may take; None: as long as it likes.
    """

    def __init__(self, started: float | None, seconds: float | None) -> None:
        self.started = run_env.get().monotonic() if started is None else started
        self._seconds = seconds

    @property
    def is_over(self) -> bool:
        """Whether the run has had its time."""
        left = self._left
        return left is not None and left <= _GRAIN

    @property
    def _left(self) -> float | None:
        if self._seconds is None:
            return None
        return self._seconds - (run_env.get().monotonic() - self.started)

    def call(self, name: str, work: Callable[[], Any]) -> Any:
        """What the work gives; `OVER` if it takes longer than the run has time.

        A thread cannot be stopped: it runs on, and is not heard.
        """
        step = self._step(name, _called)
        if step is None:
            return work()
        marked = _work.set(work)
        try:
            return step().result()
        except NodeTimeoutError as error:
            return self._given_up(error, name)
        finally:
            _work.reset(marked)

    async def acall(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """The async twin of `call`; what takes too long is cancelled."""
        step = self._step(name, _acalled)
        if step is None:
            return await work()
        marked = _work.set(work)
        try:
            return await step()
        except NodeTimeoutError as error:
            return self._given_up(error, name)
        finally:
            _work.reset(marked)

    def _step(self, name: str, code: Callable[[], Any]) -> TaskFunction[..., Any] | None:
        """A step of the run that takes no longer than what is left; None: there is no end."""
        left = self._left
        if left is None:
            return None
        limit = TimeoutPolicy(run_timeout=max(left, _GRAIN))
        return TaskFunction(code, name, (), None, limit, part_of_node=True)

    def _given_up(self, error: NodeTimeoutError, name: str) -> Any:
        if error.node != name:
            raise error  # a limit of something inside
        return OVER


def _called() -> Any:
    return _work.get()()


async def _acalled() -> Any:
    return await _work.get()()


__all__ = ["OVER", "Clock"]
