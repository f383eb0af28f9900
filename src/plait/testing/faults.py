"""`FaultySaver`: one of plait's savers, that fails, hangs or dies at its nth storage request."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from threading import Event, Lock
from typing import Any, Final, Literal, TypeAlias, cast

from plait.checkpoint.log.keys import unpack
from plait.checkpoint.log.reader import LaneReader
from plait.checkpoint.log.requests import Done, Drain, Renew, Transact, WriteRow
from plait.checkpoint.log.saver import NativeSaver
from plait.constants import FAILED
from plait.engine.journal import MARKS
from plait.errors import ConfigError, nearest

Fault: TypeAlias = Literal[
    "raise", "commit then raise", "hang", "crash", "commit then crash", "kill", "commit then kill"
]
"""What happens at the request: see `FaultySaver`."""

FAULTS: Final = ("raise", "commit then raise", "hang", "crash", "commit then crash", "kill",
                 "commit then kill")  # fmt: skip


class InjectedFailure(OSError):
    """What a `FaultySaver` raises: an error that plait does not know."""


class InjectedCrash(BaseException):
    """The process is as good as dead: nothing more is stored. No `Exception`, as nothing in a
    program outlives its process."""


class FaultySaver(NativeSaver):
    """Passes storage requests on to one of plait's savers, until the nth.

    | fault | at the nth request |
    |---|---|
    | `raise` | raises `InjectedFailure`; the request has no effect |
    | `commit then raise` | the request takes effect, then raises |
    | `hang` | waits until `release()`, without holding up an event loop; then raises |
    | `crash`, `commit then crash` | raises `InjectedCrash`, and so does every request after it |
    | `kill`, `commit then kill` | the process gets SIGKILL |

    Args:
        saver: A saver of plait's (a `NativeSaver`); `with` closes it.
        at: Which request, from 1 (0: none).
        fault: What happens then.
        stored: Hears the id of each task whose outcome the storage has confirmed.

    Raises:
        ConfigError: The saver has not the native port, or the fault is unknown.

    >>> from plait.checkpoint.memory import InMemorySaver
    >>> saver = FaultySaver(InMemorySaver(), at=1, fault="raise")
    >>> saver.get_tuple({"configurable": {"thread_id": "1"}})
    Traceback (most recent call last):
    plait.testing.faults.InjectedFailure: Storage request 1 failed (ReadHead).
    >>> saver.get_tuple({"configurable": {"thread_id": "1"}}) is None, saver.failed, saver.requests
    (True, True, 2)
    """

    def __init__(
        self,
        saver: Any,
        *,
        at: int = 0,
        fault: Fault = "raise",
        stored: Callable[[str], None] | None = None,
    ) -> None:
        if not isinstance(saver, NativeSaver):
            raise ConfigError(
                f"FaultySaver wraps plait's own savers, which take storage requests; "
                f"{type(saver).__name__} has only LangGraph's port."
            )
        if fault not in FAULTS:
            raise ConfigError(f"Unknown fault {fault!r}. {nearest(fault, FAULTS)}")
        if isinstance(at, bool) or not isinstance(cast("Any", at), int) or at < 0:
            raise ConfigError(f"at={at!r}: give the number of a request, from 1 (0: none fails).")
        super().__init__(serde=saver.serde, thread_busy=saver.thread_busy)
        self.saver = saver
        self.ttl = saver.ttl
        self.at = at
        self.fault: Fault = fault
        self.requests = 0
        """How many storage requests there were."""
        self.failed = False
        """Whether the fault has happened."""
        self.hanging = Event()
        """Set when a request hangs."""
        self._released = Event()
        self._stored = stored
        self._counting = Lock()

    @property
    def drain(self) -> Drain | None:
        """As the saver's; rows that are made later would tell nothing of what they store."""
        return self.saver.drain if self._stored is None else None

    @property
    def shared(self) -> bool:
        """As the saver's; a request that may hang is nothing to wait for inline."""
        return self.saver.shared or self.fault == "hang"

    def renew(self, request: Renew) -> None:
        """Prolong claims; renewals are not counted, since they come by the clock."""
        self.saver.renew(request)

    def release(self) -> None:
        """Let the request that hangs go on to its error."""
        self._released.set()

    def __enter__(self) -> FaultySaver:
        return self

    def __exit__(self, *_: object) -> None:
        close = getattr(self.saver, "close", None)
        if close is not None:
            close()

    def execute(self, request: Any) -> Any:
        """Do a storage request, or fail."""
        here = self._count()
        if here:
            self._before(request)
            if self.fault == "hang":
                self.hanging.set()
                self._released.wait()
                raise self._failure(request)
        answer = self.saver.execute(request)
        return self._after(request, answer, here)

    async def aexecute(self, request: Any) -> Any:
        """Do a storage request, or fail."""
        here = self._count()
        if here:
            self._before(request)
            if self.fault == "hang":
                self.hanging.set()
                while not self._released.is_set():
                    await asyncio.sleep(0.001)
                raise self._failure(request)
        answer = await self.saver.aexecute(request)
        return self._after(request, answer, here)

    def _count(self) -> bool:
        with self._counting:
            self.requests += 1
            if self.failed and self.fault.endswith("crash"):
                raise InjectedCrash("The process has crashed already.")
            here = self.requests == self.at
            self.failed = self.failed or here
        return here

    def _before(self, request: Any) -> None:
        if self.fault == "raise":
            raise self._failure(request)
        if self.fault == "crash":
            raise InjectedCrash(f"Died before storage request {self.requests}.")
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)

    def _after(self, request: Any, answer: Any, here: bool) -> Any:
        if self._stored is not None and type(answer) is Done and type(request) is Transact:
            for task in self._ended_in(request):
                self._stored(task)
        if not here:
            return answer
        if self.fault == "commit then kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "commit then crash":
            raise InjectedCrash(f"Died after storage request {self.requests}.")
        raise self._failure(request)

    def _ended_in(self, request: Transact) -> Iterator[str]:
        """The tasks whose outcome a transaction stores. Questions, answers, starts and errors of
        tasks that are tried again are none: such a task runs again."""
        reader = LaneReader(request.thread_id, request.ns, self._codec_of(None), 0)
        for row in request.writes:
            channels = {channel for channel, _ in reader.writes_frame(WriteRow(*row))}
            if FAILED in channels or not channels <= MARKS:
                yield unpack(row[1])

    def _failure(self, request: Any) -> InjectedFailure:
        when = " after it was done" if self.fault == "commit then raise" else ""
        return InjectedFailure(
            f"Storage request {self.at} failed{when} ({type(request).__name__})."
        )


__all__ = ["FAULTS", "Fault", "FaultySaver", "InjectedCrash", "InjectedFailure"]
