"""The base of plait's savers: sessions and LangGraph's port, over `execute(request)`."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar, cast

from plait.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    SerializerProtocol,
    arun_plan,
    run_plan,
)
from plait.checkpoint.base.port import Plan
from plait.checkpoint.log import peer, retention
from plait.checkpoint.log.claims import LEASE, POLICIES, Hold, Policy
from plait.checkpoint.log.codecs import codec_for
from plait.checkpoint.log.heartbeat import heart
from plait.checkpoint.log.requests import Pause, Renew
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.serde import Codec, Registry
from plait.errors import ConfigError, nearest

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig

T = TypeVar("T")


class NativeSaver(BaseCheckpointSaver[str]):
    """A saver with the native commit port. A subclass stores rows: it adds `execute`.

    Args:
        serde: The serializer of values (None: plait's codec).
    """

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._codec: tuple[Any, Codec] | None = None

    # --- What a subclass adds --------------------------------------------------------------------

    @abstractmethod
    def execute(self, request: Any) -> Any:
        """Do one storage request (see `plait.checkpoint.log.requests`)."""

    @abstractmethod
    async def aexecute(self, request: Any) -> Any:
        """Do one storage request without blocking the event loop."""

    @property
    def drain(self) -> Callable[[], None] | None:
        """Makes the rows of `Append`ed commits; None for savers that take none."""
        return None

    @property
    def shared(self) -> bool:
        """Whether other processes can reach the same rows."""
        return False

    def renew(self, request: Renew) -> None:
        """Prolong claims, beside whatever else the saver is doing."""
        self.execute(request)

    # --- The native port -------------------------------------------------------------------------

    def open_session(
        self,
        thread_id: str,
        ns: str = "",
        *,
        registry: Registry | None = None,
        policy: Policy = "reject",
        lease: float = LEASE,
    ) -> LogSession:
        """A run's hold on a thread. Does no I/O and takes no claim yet.

        Args:
            thread_id: The thread.
            ns: The namespace within the thread ("": the root graph).
            registry: The types that may be stored (None: those registered globally).
            policy: What to do when another run owns the thread: "reject", "wait", "takeover", or
                "allow" (never claim).
            lease: Seconds that a claim lasts unless renewed.

        Raises:
            ConfigError: The policy is unknown.
        """
        if policy not in POLICIES:
            raise ConfigError(f"Unknown policy {policy!r}. {nearest(policy, POLICIES)}")
        shared = self.shared
        hold = Hold(
            thread_id, policy, lease, self.renew if shared else None, heart.keep if shared else None
        )
        return LogSession(thread_id, ns, self._codec_of(registry), hold, drain=self.drain)

    def run(self, plan: Plan[T]) -> T:
        """Run a plan of this saver to its end."""
        return run_plan(plan, self._execute)

    async def arun(self, plan: Plan[T]) -> T:
        """Run a plan of this saver to its end, without blocking the event loop."""
        return await arun_plan(plan, self._aexecute)

    def _execute(self, request: Any) -> Any:
        if type(request) is Pause:
            sleep(request.seconds)
            return None
        return self.execute(request)

    async def _aexecute(self, request: Any) -> Any:
        if type(request) is Pause:
            await asyncio.sleep(request.seconds)
            return None
        return await self.aexecute(request)

    def _codec_of(self, registry: Registry | None) -> Codec:
        if registry is not None:
            return codec_for(self.serde, registry)
        if self._codec is None or self._codec[0] is not self.serde:
            self._codec = (self.serde, codec_for(self.serde, None))
        return self._codec[1]

    # --- LangGraph's port ------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names (the newest by default), or None."""
        return self.run(peer.get_tuple(self._codec_of(None), config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async twin of `get_tuple`."""
        return await self.arun(peer.get_tuple(self._codec_of(None), config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first; see `BaseCheckpointSaver.list`."""
        walk = peer.Walk(self._codec_of(None), config, filter, before, limit)
        while not walk.done:
            yield from self.run(walk.page())

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async twin of `list`."""
        walk = peer.Walk(self._codec_of(None), config, filter, before, limit)
        while not walk.done:
            for found in await self.arun(walk.page()):
                yield found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; see `BaseCheckpointSaver.put`."""
        return self.run(self._put(config, checkpoint, metadata, new_versions))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async twin of `put`."""
        return await self.arun(self._put(config, checkpoint, metadata, new_versions))

    def _put(
        self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any
    ) -> Plan[RunnableConfig]:
        session = self.open_session(*peer.lane_of(config), policy="allow")
        return cast("Any", peer.put(session, config, checkpoint, metadata, new_versions))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote; see `BaseCheckpointSaver.put_writes`."""
        session = self.open_session(*peer.lane_of(config), policy="allow")
        self.run(peer.put_writes(session, config, writes, task_id, task_path))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async twin of `put_writes`."""
        session = self.open_session(*peer.lane_of(config), policy="allow")
        await self.arun(peer.put_writes(session, config, writes, task_id, task_path))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The version that follows another: a number that sorts as text."""
        return peer.next_version(current)

    # --- Retention -------------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Delete all that is kept of a thread.

        Raises:
            ThreadBusyError: A run owns the thread.
        """
        self.run(retention.delete_thread(self.open_session(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of `delete_thread`."""
        await self.arun(retention.delete_thread(self.open_session(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints, with their writes, whose metadata names one of these runs."""
        self.run(retention.delete_for_runs(self.open_session, run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async twin of `delete_for_runs`."""
        await self.arun(retention.delete_for_runs(self.open_session, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all that is kept of a thread to another, which must not exist.

        Raises:
            ConfigError: The target exists.
        """
        self.run(self._copy(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async twin of `copy_thread`."""
        await self.arun(self._copy(source_thread_id, target_thread_id))

    def _copy(self, source: str, target: str) -> Plan[None]:
        return retention.copy_thread(self._codec_of(None), source, self.open_session(target))

    def prune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: str | None = None,
    ) -> None:
        """Delete old checkpoints of threads, and what only they needed.

        Args:
            thread_ids: Which threads.
            strategy: "keep_latest" keeps the newest of each namespace, "delete" keeps none.
            keep_last: Keep so many of each namespace, instead of one.
            older_than: Only delete checkpoints made before this time (ISO 8601, UTC).

        Raises:
            ThreadBusyError: A run owns one of the threads.
            ConfigError: The strategy is unknown.
        """
        rule = retention.Rule.of(strategy, keep_last, older_than)
        for thread_id in thread_ids:
            self.run(retention.prune(self.open_session(thread_id), rule))

    async def aprune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: str | None = None,
    ) -> None:
        """Async twin of `prune`."""
        rule = retention.Rule.of(strategy, keep_last, older_than)
        for thread_id in thread_ids:
            await self.arun(retention.prune(self.open_session(thread_id), rule))
