"""`BaseCheckpointSaver`: LangGraph's saver port, which third-party savers implement.

plait's own savers also offer the native commit port (`port.Session`); a saver that only has this
one is used through `foreign.ForeignSession`, with the weaker promises that its head names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from plait.checkpoint.base.model import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from plait.checkpoint.serde.base import SerializerProtocol, allowing, checked_serde
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig

V = TypeVar("V", int, float, str)


class BaseCheckpointSaver(Generic[V]):
    """Keeps the checkpoints of threads. Subclass it and implement what you can store.

    A saver needs `get_tuple`, `list`, `put` and `put_writes` to be used by sync runs, and their
    twins (`aget_tuple`, ...) to be used by async runs without a thread in between.

    Args:
        serde: Turns values into bytes and back; plait's by default.
    """

    serde: SerializerProtocol = JsonPlusSerializer()

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        if serde is not None:
            self.serde = checked_serde(serde)

    @property
    def config_specs(self) -> list[Any]:
        """What this saver reads from a config's `configurable`, for schema listings."""
        return []

    def get(self, config: RunnableConfig) -> Checkpoint | None:
        """The checkpoint that a config names (the newest by default), or None."""
        found = self.get_tuple(config)
        return None if found is None else found.checkpoint

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names, with its metadata, parent and pending writes.

        Args:
            config: The thread and namespace, and the checkpoint; without one, the newest.

        Returns:
            The tuple; None where nothing is stored.
        """
        self.__lacks("get_tuple")

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first.

        Args:
            config: Which thread (and namespace); None for all.
            filter: Metadata that must match.
            before: Only checkpoints older than the one this config names.
            limit: At most so many.
        """
        self.__lacks("list")

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint.

        Args:
            config: The thread and namespace; its checkpoint id is the parent's.
            checkpoint: The whole checkpoint.
            metadata: What is known about it.
            new_versions: The versions of the channels that changed since the parent.

        Returns:
            The config that names the stored checkpoint.
        """
        self.__lacks("put")

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote while its super-step still runs.

        Writes to channels of `WRITES_IDX_MAP` replace earlier ones; another write that was stored
        at the same position of the same task stays as it is.

        Args:
            config: The thread, the namespace and the checkpoint that the task runs on.
            writes: Pairs of a channel and what was written to it.
            task_id: The task's id.
            task_path: Its place in the super-step.
        """
        self.__lacks("put_writes")

    def delete_thread(self, thread_id: str) -> None:
        """Delete all that is kept of a thread."""
        self.__lacks("delete_thread")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and writes of these runs."""
        self.__lacks("delete_for_runs")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all that is kept of a thread to another."""
        self.__lacks("copy_thread")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete old checkpoints of threads.

        Args:
            thread_ids: Which threads.
            strategy: "keep_latest" keeps the newest of each namespace, "delete" keeps none.
        """
        self.__lacks("prune")

    async def aget(self, config: RunnableConfig) -> Checkpoint | None:
        """Async twin of `get`."""
        found = await self.aget_tuple(config)
        return None if found is None else found.checkpoint

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async twin of `get_tuple`."""
        self.__lacks("aget_tuple")

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async twin of `list`."""
        self.__lacks("alist")
        yield  # pyright: ignore[reportUnreachable]  # makes this an async generator

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async twin of `put`."""
        self.__lacks("aput")

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async twin of `put_writes`."""
        self.__lacks("aput_writes")

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of `delete_thread`."""
        self.__lacks("adelete_thread")

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async twin of `delete_for_runs`."""
        self.__lacks("adelete_for_runs")

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async twin of `copy_thread`."""
        self.__lacks("acopy_thread")

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Async twin of `prune`."""
        self.__lacks("aprune")

    def get_next_version(self, current: V | None, channel: None) -> V:
        """The version that follows another. Override it for versions that are text.

        Args:
            current: The version before, or None.
            channel: Not used any more.

        Returns:
            A version that sorts after `current`.
        """
        if isinstance(current, str):
            raise NotImplementedError(
                f"{type(self).__name__} has text versions: implement get_next_version()."
            )
        return 1 if current is None else current + 1  # pyright: ignore[reportReturnType]

    def with_allowlist(self, extra_allowlist: Collection[Any]) -> BaseCheckpointSaver[V]:
        """A shallow copy whose serializer also knows these types (classes); the saver itself where
        there are none, or its serializer knows types by itself."""
        return allowing(self, extra_allowlist)

    def __lacks(self, method: str) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} does not implement {method}().")
