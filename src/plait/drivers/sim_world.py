"""What the runs of a simulated process share: chance, the clock, who could go on, the storage.

`World` is the life of one such process. It chooses what happens next among the tasks of all its
runs, so that every order of completion that threads could give can come about, and it dies at the
storage request that it is told to die at.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from random import Random
from typing import Any, NamedTuple, Protocol

from plait.checkpoint.log.requests import Append, Refused, Transact
from plait.drivers.base import Part
from plait.drivers.calls import PumpedCall
from plait.engine.commands import Command, Commit, SaveWrites
from plait.engine.events import TimerFired
from plait.engine.loop import Loop
from plait.engine.plan import Writes
from plait.engine.report import is_outcome
from plait.engine.tasks import Task

EPOCH = 1_767_225_600.0
"""When the virtual clock starts: 2026-01-01, UTC."""


class SimulatedCrash(BaseException):
    """The simulated process died at a storage request; only what the saver holds is left.

    No `Exception`, since nothing in a program outlives its process.
    """


class SimulationError(RuntimeError):
    """The simulation cannot go on: nothing can happen any more, or code awaits a real event."""


class Crash(NamedTuple):
    """Where a simulated process dies."""

    request: int
    """The number of the storage request, from 1."""
    after: bool = False
    """Whether the request takes effect before the process dies."""


class Happening(NamedTuple):
    """One entry of a trace.

    `what` is "began", "ended", "failed", "waits" (tasks), "timer", "stored" (the outcome of a task
    is acknowledged), "committed" (a checkpoint), or "crashed".
    """

    what: str
    id: str
    """The task or checkpoint."""
    detail: Any = None
    """The node's name; of a checkpoint, (namespace, super-step)."""


class SimEnv:
    """A virtual clock, counted ids, seeded chance: two runs with equal seeds are equal.

    >>> SimEnv(7).checkpoint_id(), SimEnv(7).now()
    ('00000001-0000-7000-8000-000000000007', 1767225600.0)
    """

    def __init__(self, seed: int = 0) -> None:
        self.clock = 0.0
        """Seconds since the simulation began."""
        self._tail = f"8000-{seed & 0xFFFF_FFFF_FFFF:012x}"
        self._random = Random(seed)
        self._checkpoints = count(1)
        self._ids = count(1)

    def checkpoint_id(self) -> str:
        """The id of the next checkpoint."""
        return f"{next(self._checkpoints):08x}-0000-7000-{self._tail}"

    def new_id(self) -> str:
        """Any other new id."""
        return f"{next(self._ids):08x}-0000-4000-{self._tail}"

    def now(self) -> float:
        """The time that is stored, in seconds since the epoch."""
        return EPOCH + self.clock

    def monotonic(self) -> float:
        """The time that limits are counted by."""
        return self.clock

    def jitter(self) -> float:
        """A chance between 0 and 1, from the seed."""
        return self._random.random()


class Worker(Protocol):
    """A run of the simulated process, as the world sees it."""

    loop: Loop

    def perform(self, job: Job) -> None: ...

    def interrupt(self, job: Job) -> None: ...

    def post(self, event: Any) -> None: ...

    def catch_up(self) -> None: ...


@dataclass(slots=True, eq=False)
class Job:
    """One attempt of one task, begun or not."""

    driver: Worker
    task: Task
    attempt: int
    context: Context
    has_thread: bool = False
    """Whether its time runs: it has a thread, or the event loop has come to it."""
    coroutine: Coroutine[Any, Any, Writes] | None = None
    waits_for: PumpedCall | None = None

    @property
    def able(self) -> bool:
        """Whether it can go on."""
        return self.waits_for is None or self.waits_for.done()


class World:
    """The life of one process: who runs when, what time it is, when it dies.

    Args:
        seed: decides every choice.
        env: clock and ids, to go on with those of an earlier life (None: new ones).
        crash: where this life ends early.
        listen: hears each part of every run's stream when it is told, which is earlier than a
            consumer does: a thread that runs tasks cannot hand out parts meanwhile.
    """

    def __init__(
        self,
        seed: int,
        *,
        env: SimEnv | None = None,
        crash: Crash | None = None,
        listen: Callable[[Part], None] | None = None,
    ) -> None:
        self.env = SimEnv(seed) if env is None else env
        self.listen = listen
        self.trace: list[Happening] = []
        self.requests = 0
        """Storage requests so far."""
        self._chance = Random(seed).random
        self._crash = crash
        self._jobs: list[Job] = []
        self._timers: list[tuple[float, int, Worker, Any]] = []
        self._ticket = count()

    # --- choices ---------------------------------------------------------------------------------

    def below(self, bound: int) -> int:
        """A number from 0 to bound - 1."""
        return int(self._chance() * bound) if bound > 1 else 0

    def flip(self) -> bool:
        """Yes or no."""
        return self._chance() < 0.5

    def note(self, what: str, id: str, detail: Any = None) -> None:
        """Write down what happened."""
        self.trace.append(Happening(what, id, detail))

    # --- tasks and timers ------------------------------------------------------------------------

    def begin(self, job: Job) -> None:
        """A task may run, from now on."""
        self._jobs.append(job)

    def sleep(self, driver: Worker, what: Any, delay: float) -> None:
        """A timer fires, some time after `delay` virtual seconds."""
        heappush(self._timers, (self.env.clock + delay, next(self._ticket), driver, what))

    def unset(self, driver: Worker, call_off: Callable[[Any], bool]) -> None:
        """Call off those timers of a run."""
        kept = [timer for timer in self._timers if timer[2] is not driver or not call_off(timer[3])]
        self._timers = kept
        heapify(kept)

    @property
    def idle(self) -> bool:
        """Whether nothing can happen."""
        return not self._timers and not any(job.able for job in self._jobs)

    def advance(self, waiting: Worker) -> None:
        """One thing happens: a task runs on, or the clock moves to the next timer."""
        able = [job for job in self._jobs if job.able]
        choices = len(able) + bool(self._timers)
        if not choices:
            raise SimulationError(
                f"Nothing can happen any more: {waiting.loop.spec.where} waits, and "
                f"{[job.task.name for job in self._jobs] or 'nobody'} could run. A task waits for "
                "something that no other task will do."
            )
        chosen = self.below(choices)
        if chosen == len(able):
            due, _, driver, what = heappop(self._timers)
            self.env.clock = max(self.env.clock, due)
            self.note("timer", *_told(what))
            driver.post(TimerFired(what))
        else:
            job = able[chosen]
            driver = job.driver
            self._jobs.remove(job)
            driver.perform(job)
        if driver is not waiting and self.flip():
            driver.catch_up()

    def cancel(self, driver: Worker, tasks: Sequence[Task]) -> list[Task]:
        """Stop tasks of a run: those that never began are named, those that wait are told."""
        self.unset(driver, lambda what: isinstance(what, Task))
        stopped = [job for job in self._jobs if job.driver is driver and job.task in tasks]
        never_began = [job.task for job in stopped if job.coroutine is None]
        self._jobs = [job for job in self._jobs if job not in stopped]
        for job in stopped:
            if job.coroutine is not None:
                driver.interrupt(job)
        return never_began

    def expire(self, driver: Worker, task: Task) -> bool:
        """Stop an attempt; whether it is being stopped. Else it never began, or cannot be."""
        for job in self._jobs:
            if job.driver is driver and job.task is task:
                self._jobs.remove(job)
                if job.coroutine is None:
                    return False
                driver.interrupt(job)
                return True
        return False

    def drop(self, driver: Worker | None) -> None:
        """A run is over (None: all are): what it left behind goes away."""
        self.unset(driver, lambda what: True) if driver is not None else self._timers.clear()
        for job in [job for job in self._jobs if driver is None or job.driver is driver]:
            self._jobs.remove(job)
            if job.coroutine is not None:
                job.coroutine.close()

    # --- storage ---------------------------------------------------------------------------------

    def request(
        self, execute: Callable[[Any], Any], request: Any, commands: Sequence[Command], ns: str
    ) -> Any:
        """Do one storage request of a run (`ns`: where it is), unless the process dies of it.

        The request does these commands of the run, or is one of several that do.
        """
        self.requests += 1
        crash = self._crash
        here = crash is not None and self.requests == crash.request
        if here and not crash.after:  # type: ignore[union-attr]
            self._die(request)
        answer = execute(request)
        if type(request) in (Transact, Append) and type(answer) is not Refused:
            for command in commands:
                self._note_stored(command, ns)
        if here:
            self._die(request)
        return answer

    def pause(self, seconds: float) -> None:
        """A plan waits before it goes on: nothing else happens meanwhile."""
        self.env.clock += seconds

    def _note_stored(self, command: Command, ns: str) -> None:
        if isinstance(command, (Commit, SaveWrites)):
            for task in command.writes:
                if is_outcome(task.writes):
                    self.note("stored", task.task_id)
        if isinstance(command, Commit):
            step = command.checkpoint.metadata.get("step")
            self.note("committed", command.checkpoint.id, (ns, step))

    def _die(self, request: Any) -> None:
        self.note("crashed", str(self.requests), type(request).__name__)
        raise SimulatedCrash(f"died at storage request {self.requests}: {request!r}")


def _told(what: Any) -> tuple[str, Any]:
    """The task that a timer is for, and its node; of a super-step's limit, what it is."""
    task = getattr(what, "task", what)
    return (task.id, task.name) if isinstance(task, Task) else ("", type(what).__name__)


__all__ = [
    "EPOCH",
    "Crash",
    "Happening",
    "Job",
    "SimEnv",
    "SimulatedCrash",
    "SimulationError",
    "Worker",
    "World",
]
