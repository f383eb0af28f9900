"""A compiled graph's threads: read where they stand, walk their history, change them by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from plait.types import StateSnapshot, StateUpdate

if TYPE_CHECKING:
    from plait.pregel.main import Pregel
    from plait.runnables.config import ConfigLike, RunnableConfig


@cache
def _reading() -> Any:
    """The code that reads threads, loaded when the first one is read."""
    from plait.pregel import snapshots

    return snapshots


class Threads:
    """The side of a compiled graph that looks at stored threads."""

    @property
    def _graph(self) -> Pregel:
        return cast("Pregel", self)

    def get_state(self, config: ConfigLike, *, subgraphs: bool = False) -> StateSnapshot:
        """The thread as it stands: its state, what runs next, who waits for an answer.

        Args:
            config: names the thread, and with `checkpoint_id` one of its checkpoints.
            subgraphs: also read the state of the graphs inside its tasks (`task.state`).

        Returns:
            The snapshot; an empty one where there is no such thread or checkpoint.

        Raises:
            ConfigError: the graph has no saver, or the config names no thread.
            CorruptCheckpointError: what is stored is damaged.
        """
        return _reading().get_state(self._graph, config, subgraphs)

    async def aget_state(self, config: ConfigLike, *, subgraphs: bool = False) -> StateSnapshot:
        """`get_state` in an event loop."""
        return await _reading().aget_state(self._graph, config, subgraphs)

    def get_state_history(
        self,
        config: ConfigLike,
        *,
        filter: Mapping[str, Any] | None = None,
        before: ConfigLike | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """The checkpoints of a thread, newest first.

        Args:
            config: names the thread; with `checkpoint_id`, that checkpoint alone.
            filter: only those whose metadata has these entries.
            before: only those older than this config's checkpoint.
            limit: at most this many.

        Raises:
            ConfigError: the graph has no saver, or the config names no thread.
        """
        return _reading().history(self._graph, config, filter, before, limit)

    def aget_state_history(
        self,
        config: ConfigLike,
        *,
        filter: Mapping[str, Any] | None = None,
        before: ConfigLike | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """`get_state_history` in an event loop."""
        return _reading().ahistory(self._graph, config, filter, before, limit)

    def get_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> Iterator[tuple[str, Pregel]]:
        """The graphs inside this one, each with its namespace (`node`, or `node|node inside`).

        A node that is a graph counts, and a node whose function mentions one.

        Args:
            namespace: only the graph of this namespace (below the first level: with `recurse`).
            recurse: also those inside them.

        Example:
            >>> from plait.graph import START, StateGraph
            >>> inner = StateGraph(dict).add_node("step", len).add_edge(START, "step").compile()
            >>> outer = StateGraph(dict).add_node("sub", inner).add_edge(START, "sub").compile()
            >>> [namespace for namespace, graph in outer.get_subgraphs()]
            ['sub']
        """
        return _reading().subgraphs(self._graph, namespace, recurse)

    async def aget_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> AsyncIterator[tuple[str, Pregel]]:
        """`get_subgraphs` for async code."""
        for found in self.get_subgraphs(namespace=namespace, recurse=recurse):
            yield found

    def update_state(
        self,
        config: ConfigLike,
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """Write to a thread as if a node had; returns the config of the new checkpoint.

        Args:
            config: names the thread, and with `checkpoint_id` the checkpoint to fork.
            values: the update, through the reducers. None writes nothing.
            as_node: in whose name; its edges decide what runs next. None: the last node that ran,
                when that is unambiguous.
            task_id: which of that node's pending tasks the update stands for; None: the first.

        Raises:
            ConfigError: the graph has no saver, or the config names no thread.
            InvalidUpdateError: unknown or ambiguous node, or a value that cannot be written.
            ThreadBusyError: a live run owns the thread.
            UnknownCheckpointError: the thread has no such checkpoint.
        """
        from plait.pregel import updates

        return updates.update_state(self._graph, config, values, as_node, task_id)

    async def aupdate_state(
        self,
        config: ConfigLike,
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """`update_state` in an event loop."""
        from plait.pregel import updates

        return await updates.aupdate_state(self._graph, config, values, as_node, task_id)

    def bulk_update_state(
        self, config: ConfigLike, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Write several super-steps to a thread by hand, each with one or more updates.

        All are stored, or none: an update that is refused leaves the thread as it was.

        Args:
            config: names the thread, and with `checkpoint_id` the checkpoint to start from.
            supersteps: the updates of each super-step. Several in one apply together, as if
                their nodes had run beside each other; each then names its node.

        Returns:
            The config of the last checkpoint.

        Raises:
            ConfigError: there is nothing to write, or no saver.
            InvalidUpdateError: unknown or missing node, or a value that cannot be written.
        """
        from plait.pregel import updates

        return updates.bulk_update_state(self._graph, config, supersteps)

    async def abulk_update_state(
        self, config: ConfigLike, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """`bulk_update_state` in an event loop."""
        from plait.pregel import updates

        return await updates.abulk_update_state(self._graph, config, supersteps)
