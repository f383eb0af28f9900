"""The native commit port: what a run asks of a saver, in one transaction each time.

A run holds a `Session` on one lane (a thread and a namespace). Each call of a session encodes what
it was given *at once* (the program may mutate its values right after) and returns a `Plan`: a
generator of storage requests that does no I/O itself. The saver executes plans, sync or async
(`run_plan`, `arun_plan`), so the SQL and the protocol are written once.

The protocol:

1. `load` reads a checkpoint (the head of the lane by default), with its values and task writes.
2. `claim` takes the thread for this run: a conditional update that bumps the fence token. It is
   its own transaction, or rides on the first `commit` (`claim=` there).
3. `save_writes` acknowledges finished tasks of a step that still runs. A task whose writes were
   acknowledged never runs again.
4. `commit` ends a super-step: the writes of its last tasks, the new checkpoint and the head move
   in one transaction, which is refused (`ThreadBusyError`) when the fence is stale.
5. `release` gives the claim back; it rides on the last `commit` or `save_writes` when known.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from plait.engine.records import Live, Mark, NewCheckpoint, Snapshot, Stored, TaskWrites

T = TypeVar("T")

Plan: TypeAlias = Generator[Any, Any, T]
"""A generator of storage requests: yields a request, is sent its answer, returns a result."""


class Reading(Protocol):
    """One lane of a saver, to look at. Made by `open_reading`."""

    thread_id: str
    ns: str

    def look(self, checkpoint_id: str | None = None) -> Plan[Stored | None]:
        """Read a checkpoint (None: the head) for somebody who will not go on from it."""
        ...

    def history(
        self,
        *,
        before: str | None = None,
        limit: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> Generator[Plan[Sequence[Stored]], None, None]:
        """Newest first, page by page: plans of up to some tens of checkpoints each."""
        ...

    def marks(self, at: str | None, limit: int) -> Plan[list[Mark]]:
        """Up to `limit` checkpoints from `at` (None: the newest) back, without their values."""
        ...

    def nested(self, ns: str) -> Reading:
        """The lane of another namespace of this thread."""
        ...


class Session(Reading, Protocol):
    """One run's hold on one lane of a saver. Made by `open_session`; not shared between runs."""

    parked: bool
    """Set by the driver while its run stands still because the consumer of its stream holds it; a
    later run of the same process may then take the thread over."""
    gone: Callable[[], bool]
    """Set by the driver of a run that has no other around it: whether what drives it has ended (an
    event loop was closed). Then nobody waits for it, and its claim is renewed no more."""

    def load(
        self, checkpoint_id: str | None = None, *, to_write: bool = False
    ) -> Plan[Snapshot | None]:
        """Read a checkpoint (None: the head). Returns None where there is none.

        With `to_write`, for a run that will write, it may claim the thread before it reads.
        """
        ...

    def leave(self) -> bool:
        """The run is cancelled: stop waiting for a thread that another run owns.

        Returns whether the outcome of what was asked for must be known: it may be a claim.
        """
        ...

    @property
    def may_wait(self) -> bool:
        """Whether a claim may wait for another run to end."""
        ...

    def claim(self) -> Plan[None]:
        """Take the thread for this run in a transaction of its own. Raises ThreadBusyError."""
        ...

    def commit(
        self,
        checkpoint: NewCheckpoint,
        writes: Sequence[TaskWrites] = (),
        *,
        claim: bool = False,
        release: bool = False,
    ) -> Plan[None]:
        """Store a checkpoint and task writes and move the head, in one transaction."""
        ...

    def put_off(self, checkpoint: NewCheckpoint) -> bool:
        """Store a checkpoint, which begins a run, in the transaction of what is stored next.

        False: this session does not; commit it.
        """
        ...

    def save_writes(
        self, writes: Sequence[TaskWrites], *, claim: bool = False, release: bool = False
    ) -> Plan[None]:
        """Acknowledge finished tasks, in one transaction."""
        ...

    def release(self) -> Plan[None]:
        """Give the claim back, if this run still holds it."""
        ...

    def nested(self, ns: str) -> Session:
        """The lane of another namespace of this thread, under the same claim and fence."""
        ...


__all__ = [
    "Live",
    "Mark",
    "NewCheckpoint",
    "Plan",
    "Reading",
    "Session",
    "Snapshot",
    "Stored",
    "TaskWrites",
]
