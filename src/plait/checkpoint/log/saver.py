"""The base of plait's savers: sessions and LangGraph's port, over `execute(request)`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from plait.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    SerializerProtocol,
    arun_plan,
    run_plan,
)
from plait.checkpoint.base.port import Plan
from plait.checkpoint.base.serving import PORT_METHODS, serving
from plait.checkpoint.log import peer
from plait.checkpoint.log.claims import LEASE, Hold, Policy, check_policy
from plait.checkpoint.log.codecs import codec_for
from plait.checkpoint.log.heartbeat import heart
from plait.checkpoint.log.joined import joined
from plait.checkpoint.log.looking import LogReading
from plait.checkpoint.log.recent import ROOM, ROOM_BESIDE, Recent
from plait.checkpoint.log.requests import Drain, Renew
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.log.tending import Tending
from plait.checkpoint.serde import Codec, Registry

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig

T = TypeVar("T")

_MET = 8
"""Of how many graphs a saver remembers what they may store; see `NativeSaver._met`."""


class NativeSaver(Tending):
    """A saver with the native commit port. A subclass stores rows: it adds `execute`.

    Args:
        serde: The serializer of values (None: plait's codec).
        thread_busy: What a run does when another one owns its thread: "reject", "wait",
            "takeover", or "allow" (never claim). A call may say otherwise in its configurable.

    Raises:
        ConfigError: The policy is unknown.
    """

    overridden: ClassVar[frozenset[str]] = frozenset()
    """Methods of LangGraph's port that the class has of its own: with any, runs go through them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.overridden = frozenset(
            name for name in PORT_METHODS if getattr(cls, name) is not getattr(NativeSaver, name)
        )

    def __init__(
        self, *, serde: SerializerProtocol | None = None, thread_busy: Policy = "reject"
    ) -> None:
        super().__init__(serde=serde)
        check_policy(thread_busy)
        self.thread_busy: Policy = thread_busy
        self._codec: tuple[Any, Codec] | None = None
        self._met: tuple[Registry, ...] = ()
        """What the graphs may store that used this saver last, the last one first: whoever asks
        the saver itself is shown what they have stored."""

    @cached_property
    def _recent(self) -> Recent:
        """What was read last."""
        return Recent(ROOM if self.shared else ROOM_BESIDE)

    # --- What a subclass adds --------------------------------------------------------------------

    @abstractmethod
    def execute(self, request: Any) -> Any:
        """Do one storage request (see `plait.checkpoint.log.requests`)."""

    @abstractmethod
    def aexecute(self, request: Any) -> Coroutine[Any, Any, Any]:
        """Do one storage request without blocking the event loop."""

    @property
    def drain(self) -> Drain | None:
        """Makes the rows of `Append`ed commits; None for savers that take none."""
        return None

    @property
    def shared(self) -> bool:
        """Whether other processes can reach the same rows."""
        return False

    @property
    def stepped(self) -> bool:
        """Whether a run may advance `aexecute` in its own asyncio task.

        True for savers whose `aexecute` awaits only futures, tasks and `asyncio.sleep`, and nothing
        that asks for its current task, as `asyncio.timeout` does.
        """
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
        policy: Policy | None = None,
        lease: float = LEASE,
    ) -> LogSession:
        """A run's hold on a thread. Does no I/O and takes no claim yet.

        Args:
            thread_id: The thread.
            ns: The namespace within the thread ("": the root graph).
            registry: The types that may be stored (None: those registered globally, and those of
                the graphs that used this saver last).
            policy: What to do when another run owns the thread (None: as the saver says).
            lease: Seconds that a claim lasts unless renewed.

        Raises:
            ConfigError: The policy is unknown.
        """
        policy = self.thread_busy if policy is None else policy
        check_policy(policy)
        shared = self.shared
        hold = Hold(
            thread_id, policy, lease, self.renew if shared else None, heart.keep if shared else None
        )
        return LogSession(
            thread_id, ns, self._codec_of(registry), hold, drain=self.drain,
            recent=self._recent,
        )  # fmt: skip

    def open_reading(
        self,
        thread_id: str,
        ns: str = "",
        *,
        registry: Registry | None = None,
        policy: Policy | None = None,
    ) -> LogReading:
        """A lane to look at, without a hold on its thread; else like `open_session`."""
        if policy is not None:
            check_policy(policy)
        return LogReading(thread_id, ns, self._codec_of(registry), recent=self._recent)

    def run(self, plan: Plan[T]) -> T:
        """Run a plan of this saver to its end."""
        return run_plan(plan, self.execute)

    def arun(self, plan: Plan[T]) -> Coroutine[Any, Any, T]:
        """Run a plan of this saver to its end, without blocking the event loop."""
        return arun_plan(plan, self.aexecute)

    def join(self, plans: Sequence[Plan[Any]]) -> Plan[Any]:
        """One plan that does several of this saver in order, up to the first error."""
        return joined(plans)

    def _codec_of(self, registry: Registry | None) -> Codec:
        if registry is None and (run := serving.get()) is not None:
            registry = run.registry
        if registry is not None:
            if not self._met or self._met[0] is not registry:
                others = (each for each in self._met if each is not registry)
                self._met = (registry, *others)[:_MET]
            return codec_for(self.serde, registry)
        if self._met:
            return codec_for(self.serde, reduce(Registry.beside, self._met))
        if self._codec is None or self._codec[0] is not self.serde:
            self._codec = (self.serde, codec_for(self.serde, None))
        return self._codec[1]

    # --- LangGraph's port ------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names (the newest by default), or None."""
        return self.run(peer.get_tuple(self._codec_of(None), config, self._recent))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async twin of `get_tuple`."""
        return await self.arun(peer.get_tuple(self._codec_of(None), config, self._recent))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first; see `BaseCheckpointSaver.list`."""
        walk = self._walk(config, filter, before, limit)
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
        walk = self._walk(config, filter, before, limit)
        while not walk.done:
            for found in await self.arun(walk.page()):
                yield found

    def _walk(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> peer.Walk:
        return peer.Walk(self._codec_of(None), config, filter, before, limit, recent=self._recent)

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
        self.run(self._put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async twin of `put_writes`."""
        await self.arun(self._put_writes(config, writes, task_id, task_path))

    def _put_writes(self, config: RunnableConfig, *task: Any) -> Plan[None]:
        session = self.open_session(*peer.lane_of(config), policy="allow")
        return peer.put_writes(session, config, *task)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The version that follows another: a number that sorts as text."""
        return peer.next_version(current)
