"""What is kept of threads, and for how long: the methods of savers that delete, prune and copy."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from plait.checkpoint.base import BaseCheckpointSaver
from plait.checkpoint.base.port import Plan
from plait.checkpoint.log import copying, deleting, retention, usage
from plait.checkpoint.log.asked import run_ids_of, thread_id_of, thread_ids_of, ttl_of
from plait.checkpoint.log.claims import LEASE, Policy
from plait.checkpoint.log.progress import Tell, telling
from plait.checkpoint.log.retention import Swept
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.log.usage import Usage
from plait.checkpoint.serde import Registry

T = TypeVar("T")


class Tending(BaseCheckpointSaver[str]):
    """The side of a saver that looks after old threads.

    Threads in use are never touched: a method that meets one raises `ThreadBusyError`, after it has
    dealt with all others. `progress` functions are called after each thread, and inside long ones.
    """

    ttl: float | None = None
    """Seconds after their last checkpoint that threads are kept, for `sweep` (None: for ever). The
    key `thread_ttl` of a run's `configurable` says otherwise for its thread."""
    thread_busy: Policy = "reject"

    def run(self, plan: Plan[T]) -> T:
        raise NotImplementedError

    def arun(self, plan: Plan[T]) -> Coroutine[Any, Any, T]:
        raise NotImplementedError

    def open_session(
        self,
        thread_id: str,
        ns: str = "",
        *,
        registry: Registry | None = None,
        policy: Policy | None = None,
        lease: float = LEASE,
    ) -> LogSession:
        raise NotImplementedError

    def _codec_of(self, registry: Any) -> Any:
        raise NotImplementedError

    def _tender(self, thread_id: str) -> LogSession:
        """A session that leaves a live owner alone, whatever runs on this saver do."""
        policy: Policy = "wait" if self.thread_busy == "wait" else "reject"
        return self.open_session(thread_id_of(thread_id), policy=policy)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all that is kept of a thread.

        Raises:
            ThreadBusyError: A run owns the thread.
        """
        self.run(deleting.delete_thread(self._tender(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of `delete_thread`."""
        await self.arun(deleting.delete_thread(self._tender(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str], *, progress: Tell = None) -> None:
        """Delete the checkpoints, with their writes, whose metadata names one of these runs.

        A thread of which nothing is left is deleted.

        Raises:
            ThreadBusyError: Runs own some of the threads.
        """
        self.run(self._delete_for_runs(run_ids, progress))

    async def adelete_for_runs(self, run_ids: Sequence[str], *, progress: Tell = None) -> None:
        """Async twin of `delete_for_runs`."""
        await self.arun(self._delete_for_runs(run_ids, progress))

    def _delete_for_runs(self, run_ids: Sequence[str], tell: Tell) -> Plan[None]:
        return retention.delete_for_runs(self._tender, run_ids_of(run_ids), tell)

    def copy_thread(
        self, source_thread_id: str, target_thread_id: str, *, progress: Tell = None
    ) -> None:
        """Copy all that is kept of a thread to another, which must not exist.

        The source may be in use; what is copied then is what had been committed when it was read.

        Raises:
            ConfigError: The target exists, or the source does not.
            ThreadBusyError: The source was pruned meanwhile; nothing is left of the copy.
        """
        self.run(self._copy(source_thread_id, target_thread_id, progress))

    async def acopy_thread(
        self, source_thread_id: str, target_thread_id: str, *, progress: Tell = None
    ) -> None:
        """Async twin of `copy_thread`."""
        await self.arun(self._copy(source_thread_id, target_thread_id, progress))

    def _copy(self, source: str, target: str, tell: Tell) -> Plan[None]:
        return copying.copy_thread(
            self._codec_of(None), thread_id_of(source), self._tender(target), tell
        )

    def prune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: str | datetime | timedelta | None = None,
        progress: Tell = None,
    ) -> None:
        """Delete old checkpoints of threads, and what only they needed.

        The checkpoints of graphs inside tasks go with those of the steps that ran them.

        Args:
            thread_ids: Which threads.
            strategy: "keep_latest" keeps the newest of each namespace, "delete" keeps none.
            keep_last: Keep so many of each namespace, instead of one.
            older_than: Only delete checkpoints made before this time (a datetime, or ISO 8601; UTC
                where it has no time zone), or longer ago than a timedelta.
            progress: Told of each thread.

        Raises:
            ThreadBusyError: A run owns one of the threads.
            CorruptCheckpointError: One of the threads is damaged.
            ConfigError: The strategy, the number or the time is none, or the ids are no list.
        """
        rule = retention.Rule.of(strategy, keep_last, older_than)
        self.run(self._prune(thread_ids, rule, progress))

    async def aprune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: str | datetime | timedelta | None = None,
        progress: Tell = None,
    ) -> None:
        """Async twin of `prune`."""
        rule = retention.Rule.of(strategy, keep_last, older_than)
        await self.arun(self._prune(thread_ids, rule, progress))

    def _prune(self, thread_ids: Sequence[str], rule: retention.Rule, tell: Tell) -> Plan[None]:
        return retention.prune_threads(self._tender, thread_ids_of(thread_ids), rule, tell)

    def sweep(
        self,
        *,
        ttl: float | None = None,
        now: datetime | None = None,
        progress: Tell = None,
    ) -> Swept:
        """Delete the threads whose time is over.

        A thread that a run or a copy left unfinished at its very start, when it died, goes with
        them once its claim has ended, and whatever checkpoints it holds are over too, if there is
        a time to live.

        Args:
            ttl: Seconds that a thread is kept after its last checkpoint, unless it has a
                `thread_ttl` of its own (None: the saver's `ttl`; without that, for ever).
            now: The time to judge by (None: the clock's); UTC where it has no time zone.
            progress: Told of each thread.

        Returns:
            The threads that were deleted, and those that are over and in use: they stay.

        Raises:
            ConfigError: The time to live is no number of seconds, or less than 0.
        """
        return self.run(self._sweep(ttl, now, progress))

    async def asweep(
        self,
        *,
        ttl: float | None = None,
        now: datetime | None = None,
        progress: Tell = None,
    ) -> Swept:
        """Async twin of `sweep`."""
        return await self.arun(self._sweep(ttl, now, progress))

    def _sweep(self, ttl: float | None, now: datetime | None, tell: Tell) -> Plan[Swept]:
        ttl = ttl_of(self.ttl if ttl is None else ttl, "ttl")
        now = datetime.now(UTC) if now is None else retention.moment(now)
        return retention.sweep(self._tender, ttl, now, tell)

    def usage(self, thread_id: str, *, progress: Tell = None) -> Usage:
        """What a thread costs in bytes: by channel and by node."""
        return self.run(self._usage(thread_id, progress))

    async def ausage(self, thread_id: str, *, progress: Tell = None) -> Usage:
        """Async twin of `usage`."""
        return await self.arun(self._usage(thread_id, progress))

    def _usage(self, thread_id: str, tell: Tell) -> Plan[Usage]:
        session = self.open_session(thread_id_of(thread_id))
        return telling(usage.usage_of(session), tell, session.thread_id, 0, 1)


__all__ = ["Tending"]
