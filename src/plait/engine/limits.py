"""How long attempts of tasks, and super-steps, may take; what takes longer is given up.

A task that was given up is one that nobody hears any more. Where its code can be stopped (asyncio),
the loop waits until it has stopped. A thread cannot be stopped: it runs on, and whatever it still
says is refused by the number of its attempt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.engine.commands import Expire, Sleep, Unset
from plait.engine.events import TaskFailed, TaskFinished
from plait.engine.storing import Flow, Storing
from plait.errors import NodeCancelledError, NodeTimeoutError, RunDeadlineError
from plait.types import TimeoutPolicy

if TYPE_CHECKING:
    from plait.engine.tasks import Task

_GRAIN = 1e-6
"""Seconds that a timer may be early by."""


class Limit:
    """The limits of one attempt of a task, and when it was last heard of.

    They count from when its code begins: an attempt that waits for a thread takes no time. (What
    bounds the waiting is the limit of the super-step, or the run's deadline.)
    """

    __slots__ = ("_clock", "attempt", "began", "heard", "policy", "task")

    def __init__(self, task: Task, policy: TimeoutPolicy, clock: Callable[[], float]) -> None:
        self.task = task
        self.attempt = task.attempt
        self.policy = policy
        self._clock = clock
        self.began = self.heard = 0.0

    def begin(self) -> None:
        """The attempt's code begins (any thread)."""
        self.began = self.heard = self._clock()

    def refresh(self, *, heartbeat: bool = False) -> None:
        """The attempt gave a sign of life (any thread)."""
        if heartbeat or self.policy.refresh_on == "auto":
            self.heard = self._clock()

    @property
    def listens(self) -> bool:
        """Whether anything but a heartbeat is a sign of life."""
        return self.policy.idle_timeout is not None and self.policy.refresh_on == "auto"

    @property
    def left(self) -> float:
        """Seconds until the first limit is reached."""
        run, idle = self._run_left, self._idle_left
        return min(left for left in (run, idle) if left is not None)

    @property
    def exceeded(self) -> NodeTimeoutError | None:
        """The error, if a limit is reached."""
        run, idle = self._run_left, self._idle_left
        if run is not None and run <= _GRAIN:
            return self._error("run")
        if idle is not None and idle <= _GRAIN:
            return self._error("idle")
        return None

    @property
    def _run_left(self) -> float | None:
        limit = self.policy.run_timeout
        return None if limit is None else self.began + cast("float", limit) - self._clock()

    @property
    def _idle_left(self) -> float | None:
        limit = self.policy.idle_timeout
        return None if limit is None else self.heard + cast("float", limit) - self._clock()

    def _error(self, kind: Any) -> NodeTimeoutError:
        return NodeTimeoutError(
            self.task.name,
            self._clock() - self.began,
            kind=kind,
            idle_timeout=cast("float | None", self.policy.idle_timeout),
            run_timeout=cast("float | None", self.policy.run_timeout),
        )


class StepLimit:
    """The limit of one super-step: its own, or the run's deadline where that comes first."""

    __slots__ = ("deadline", "number", "seconds")

    def __init__(self, number: int, seconds: float, deadline: float | None = None) -> None:
        self.number = number
        self.seconds = seconds
        self.deadline = deadline


class Limits(Storing):
    """The side of a loop that gives up what takes too long."""

    __slots__ = ("_cut", "_expired", "_limits", "_step_limit")

    _cut: dict[Task, BaseException]
    """Tasks that called one which will not run: what they return does not count."""
    _limits: dict[Task, Limit]
    """The limits of attempts that run."""
    _expired: dict[Task, BaseException]
    """Attempts that were given up and whose code is being stopped."""
    _step_limit: StepLimit | None
    _waiting: deque[Task]
    _inflight: dict[Task, int]
    _timers: set[Task]
    _failure: tuple[Task, BaseException] | None

    def _limit(self, task: Task) -> None:
        """An attempt is about to be started: note how long it may take, once it has begun."""
        policy = task.timeout or task.node.timeout
        if policy is None or (policy.run_timeout is None and policy.idle_timeout is None):
            return
        self._limits = self._limits or {}
        task.limit = self._limits[task] = Limit(task, policy, self.env.monotonic)

    def _began(self, limit: Limit) -> Flow:
        """An attempt has begun: watch how long it takes."""
        if self._is_running(limit):
            yield Sleep(limit, limit.left)

    def _is_running(self, limit: Limit) -> bool:
        """Whether the attempt has neither ended nor been given up."""
        task = limit.task
        return self._inflight.get(task) == limit.attempt and task not in self._expired

    def _limit_step(self) -> Flow:
        """A super-step begins: watch how long it takes."""
        seconds, deadline = self.spec.step_timeout, self.deadline
        if deadline is not None:
            left = deadline - self.env.now()
            if left <= 0:
                raise self._late(deadline, self.frontier.names())
            if seconds is None or left < seconds:
                self._step_limit = StepLimit(self.step, left, deadline)
                yield Sleep(self._step_limit, left)
                return
        assert seconds is not None
        self._step_limit = StepLimit(self.step, seconds)
        yield Sleep(self._step_limit, seconds)

    def _late(self, deadline: float, left: Sequence[str]) -> RunDeadlineError:
        return RunDeadlineError(
            f"{self.spec.where} has passed its deadline ({deadline:.0f}, in seconds since the "
            f"epoch) before it was done; left: {', '.join(left)}. What it has stored is kept: "
            "continue with a later one, invoke(None, config, deadline=...), or start anew with an "
            "input."
        )

    def _unlimit_step(self, limit: StepLimit) -> Flow:
        self._step_limit = None
        yield Unset(limit)

    def _unlimit(self) -> Flow:
        """Forget the limits of attempts that have ended."""
        for task, limit in list(self._limits.items()):
            if self._inflight.get(task) != limit.attempt:
                del self._limits[task]
                yield Unset(limit)

    def _due(self, limit: Limit | StepLimit, resolved: list[Task]) -> Flow:
        """A limit may have been reached: give up what has exceeded it."""
        if isinstance(limit, StepLimit):
            if limit is self._step_limit and self._failure is None:
                yield from self._give_up_step(limit, resolved)
            return
        if not self._is_running(limit):
            return
        error = limit.exceeded
        if error is None:  # it gave a sign of life meanwhile
            yield Sleep(limit, limit.left)
        else:
            yield from self._expire(limit.task, error, resolved)

    def _expire(self, task: Task, error: BaseException, resolved: list[Task]) -> Flow:
        """Give up an attempt that runs."""
        if (yield Expire(task)):
            self._expired = self._expired or {}
            self._expired[task] = error
        else:
            task.given_up = task.attempt
            yield from self._failed(TaskFailed(task, task.attempt, error), resolved)

    def _give_up_step(self, limit: StepLimit, resolved: list[Task]) -> Flow:
        running = list(self._inflight)
        late = [*running, *self._waiting, *self._timers]
        if not late:
            return  # the last task has just ended
        error: Exception = TimeoutError(
            f"Super-step {limit.number} of {self.spec.where} exceeded its step_timeout of "
            f"{limit.seconds} s: {', '.join(repr(task.name) for task in late)} had not finished."
        )
        if limit.deadline is not None:
            error = self._late(limit.deadline, [task.name for task in late])
        failed = late[0]
        while failed.parent is not None:
            failed = failed.parent
        self._give_up(failed, error, resolved)
        yield from self._expire_all(running, error, resolved)

    def _orphan(self, task: Task, resolved: list[Task]) -> Flow:
        """A task took too long for good: nobody waits for what it has called."""
        called = [each for each in self._inflight if each.parent is task]
        if called:
            yield from self._expire_all(called, _orphaned(task), resolved)

    def _expire_all(self, tasks: list[Task], error: BaseException, resolved: list[Task]) -> Flow:
        """Give up attempts, and do not try again."""
        for task in tasks:
            if task in self._inflight and task not in self._expired:
                self._cut = self._cut or {}
                self._cut.setdefault(task, error)
                yield from self._expire(task, error, resolved)

    def is_expired(self, task: Task) -> bool:
        """Whether a task takes too long, and its code is being stopped."""
        return task in self._expired

    def _leave_threads(self) -> Flow:
        """Stop what runs inside a task that took too long, except for what cannot be stopped."""
        for task in list(self._inflight):
            if not (yield Expire(task)):
                task.given_up = task.attempt
                del self._inflight[task]

    def _as_expired(self, event: TaskFinished | TaskFailed) -> Any:
        """The end of an attempt that was given up: that it was, whatever its code made of it."""
        task = event.task
        if task not in self._expired or self._inflight.get(task) != event.attempt:
            return event
        return TaskFailed(task, event.attempt, self._expired.pop(task))

    def _failed(self, event: TaskFailed, resolved: list[Task]) -> Flow:
        raise NotImplementedError

    def _give_up(self, task: Task, error: BaseException, resolved: list[Task]) -> None:
        raise NotImplementedError


def _orphaned(task: Task) -> NodeCancelledError:
    return NodeCancelledError(
        task.name, f"Stopped, because the task that called it, {task.name!r}, took too long."
    )


__all__ = ["Limit", "Limits", "StepLimit"]
