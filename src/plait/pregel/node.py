"""Nodes over channels: `NodeBuilder` says what one subscribes to, does and writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from plait.constants import TASKS
from plait.engine.inside import graphs_of
from plait.engine.plan import NodePlan, View, Writes
from plait.errors import InvalidNodeError, InvalidUpdateError
from plait.pregel.binding import Binding, merge, merged
from plait.pregel.scope import scope_for
from plait.runnables.base import Runnable
from plait.runnables.config import run_in_executor
from plait.runnables.known import is_runnable
from plait.scope import Scope
from plait.types import RetryPolicy, TimeoutPolicy
from plait.typing import MISSING

if TYPE_CHECKING:
    from datetime import timedelta

    from plait.runnables.config import RunnableConfig
    from plait.types import CachePolicy


class ChannelWriteEntry(NamedTuple):
    """One write of a node: to which channel, and what.

    >>> ChannelWriteEntry("b", mapper=str.upper).of("hi")
    [('b', 'HI')]
    """

    channel: str
    value: Any = MISSING
    """What is written, if not the node's result."""
    skip_none: bool = False
    """Write nothing where None would be written."""
    mapper: Callable[[Any], Any] | None = None
    """Makes what is written of the value."""

    def of(self, result: Any) -> Writes:
        """What a node with this result writes."""
        value = result if self.value is MISSING else self.value
        if self.mapper is not None:
            value = self.mapper(value)
        return [] if value is None and self.skip_none else [(self.channel, value)]


class _Step:
    """One thing that a node does: a function with what it is injected, or a Runnable."""

    __slots__ = ("binding", "runnable")

    def __init__(self, action: Any, name: str) -> None:
        runs_itself = is_runnable(action)
        if not runs_itself and not callable(action):
            raise InvalidNodeError(
                f"Node {name!r} must do a function or a Runnable, got {action!r}."
            )
        self.runnable: Any = action if runs_itself else None
        self.binding = None if runs_itself else Binding(action, name)

    @property
    def is_async(self) -> bool:
        return self.binding is not None and self.binding.is_async

    def call(self, value: Any, scope: Scope) -> Any:
        if self.binding is None:
            return self.runnable.invoke(value, scope.config())
        result = self.binding.call(value, scope)
        return merged(result) if self.binding.is_generator else result

    async def acall(self, value: Any, scope: Scope) -> Any:
        binding = self.binding
        if binding is None:
            return await self.runnable.ainvoke(value, scope.config())
        if not binding.is_async:
            return await run_in_executor(None, self.call, value, scope)
        if not binding.is_generator:
            return await binding.call(value, scope)
        result = None
        async for chunk in binding.call(value, scope):
            result = merge(result, chunk)
        return result


class NodeCode(Runnable[Any, Any]):
    """The code of a node: functions and Runnables, each on the result of the one before.

    As a Runnable it runs alone, outside of a graph, with a runtime made of its config.
    """

    def __init__(self, actions: Sequence[Any], name: str) -> None:
        self.name = name
        self.actions = tuple(actions)
        self._steps = [_Step(action, name) for action in actions]
        self.is_async = any(step.is_async for step in self._steps)
        self.awaits = self.is_async or any(step.binding is None for step in self._steps)
        """Whether an event loop runs it better than a thread."""

    def call(self, value: Any, scope: Scope) -> Any:
        """What the steps make of `value`."""
        for step in self._steps:
            value = step.call(value, scope)
        return value

    async def acall(self, value: Any, scope: Scope) -> Any:
        """`call` in an event loop."""
        for step in self._steps:
            value = await step.acall(value, scope)
        return value

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the code on an input, without the graph.

        Raises:
            TypeError: the code is async.
        """
        if self.is_async:
            raise TypeError(
                f'No synchronous function provided to "{self.name}": the node is async. Use '
                "ainvoke()."
            )
        return self.call(input, scope_for(config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke` in an event loop."""
        return await self.acall(input, scope_for(config))


class PregelNode(Runnable[Any, Any]):
    """A node as a graph knows it: what it reads, what triggers it, what it runs and writes.

    Made by `NodeBuilder.build()`, and found in `graph.nodes`. `invoke` runs its code alone, without
    the graph: the way to test one node.
    """

    def __init__(
        self,
        *,
        channels: str | list[str],
        triggers: Sequence[str],
        bound: Any,
        writers: Sequence[ChannelWriteEntry] = (),
        tags: Sequence[str] | None = None,
        metadata: dict[str, Any] | None = None,
        retry_policy: Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
    ) -> None:
        self.channels = channels
        self.triggers = list(triggers)
        self.bound = bound
        self.writers = list(writers)
        self.tags = None if tags is None else list(tags)
        self.metadata = metadata
        self.retry_policy = retry_policy
        self.cache_policy = cache_policy
        self.timeout = TimeoutPolicy.coerce(timeout)

    @property
    def subgraphs(self) -> list[Any]:
        """The compiled graphs among what it runs; of code that runs graphs, the first of them."""
        found = (next(graphs_of(action), None) for action in self.actions)
        return [graph for graph in found if graph is not None]

    @property
    def actions(self) -> Sequence[Any]:
        """What it runs, one after another."""
        return getattr(self.bound, "actions", (self.bound,))

    @classmethod
    def of(cls, plan: NodePlan) -> PregelNode:
        """What a node of a compiled graph is."""
        code = plan.code
        if code is None or not is_runnable(code):
            code = NodeCode(() if code is None else (code,), plan.name)
        reads = plan.reads
        return cls(
            channels=list(reads.keys) if isinstance(reads, View) else reads,
            triggers=plan.triggers,
            bound=code,
            tags=plan.tags or None,
            metadata=None if plan.metadata is None else dict(plan.metadata),
            retry_policy=plan.retry or None,
            cache_policy=None if plan.cache is None else plan.cache.policy,
            timeout=plan.timeout,
        )

    def writes(self, result: Any) -> Writes:
        """What it writes when its code returns `result`."""
        return [write for entry in self.writers for write in entry.of(result)]

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run its code on an input, without the graph and its channels."""
        return self.bound.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke` in an event loop."""
        return await self.bound.ainvoke(input, config, **kwargs)


class NodeBuilder:
    """Says step by step what a node of a `Pregel` reads, does and writes; calls chain.

    >>> node = NodeBuilder().subscribe_only("a").do(lambda a: a + a).write_to("b")
    >>> node.build().invoke("x")
    'xx'
    """

    def __init__(self) -> None:
        self._only: str | None = None
        self._channels: list[str] = []
        self._triggers: list[str] = []
        self._actions: list[Any] = []
        self._writes: list[ChannelWriteEntry] = []
        self._tags: list[str] = []
        self._metadata: dict[str, Any] = {}
        self._retry: list[RetryPolicy] = []
        self._cache: CachePolicy | None = None
        self._timeout: TimeoutPolicy | None = None

    def subscribe_only(self, channel: str) -> Self:
        """Run when `channel` is written, on its bare value.

        Raises:
            InvalidNodeError: the node subscribes to something already.
        """
        if self._only is not None or self._channels or self._triggers:
            raise InvalidNodeError(
                f"Cannot subscribe to {channel!r} only: the node already subscribes to "
                f"{[self._only] if self._only else self._triggers}. Use subscribe_to() for all."
            )
        self._only = channel
        self._triggers.append(channel)
        return self

    def subscribe_to(self, *channels: str, read: bool = True) -> Self:
        """Run when any of `channels` is written, on a dict of values.

        Args:
            channels: their names.
            read: also put their values into the dict.

        Raises:
            InvalidNodeError: the node subscribes to one channel only.
        """
        if self._only is not None:
            raise InvalidNodeError(
                f"Cannot subscribe to {list(channels)}: the node takes the bare value of "
                f"{self._only!r}. Use subscribe_to() for all of them."
            )
        if read:
            self._channels.extend(channels)
        self._triggers.extend(c for c in channels if c not in self._triggers)
        return self

    def read_from(self, *channels: str) -> Self:
        """Also put the values of these channels into the node's input; they do not trigger it.

        Raises:
            InvalidNodeError: the node takes the bare value of one channel.
        """
        if self._only is not None:
            raise InvalidNodeError(
                f"Cannot read {list(channels)}: the node takes the bare value of {self._only!r}. "
                "Use subscribe_to() instead of subscribe_only()."
            )
        self._channels.extend(channels)
        return self

    def do(self, node: Any) -> Self:
        """Run a function or Runnable, sync or async, on what was read (or on the last result)."""
        self._actions.append(node)
        return self

    def write_to(self, *channels: str | ChannelWriteEntry, **kwargs: Any) -> Self:
        """Write the result.

        Args:
            channels: channels that take the result as it is, or entries that say more.
            kwargs: channel to a function of the result, or to a value written as it is.

        Raises:
            InvalidUpdateError: a channel is the engine's own.
        """
        entries = [
            c if isinstance(c, ChannelWriteEntry) else ChannelWriteEntry(c) for c in channels
        ]
        entries.extend(
            ChannelWriteEntry(channel, mapper=value)
            if callable(value)
            else ChannelWriteEntry(channel, value=value)
            for channel, value in kwargs.items()
        )
        for entry in entries:
            if entry.channel == TASKS:
                raise InvalidUpdateError(
                    f"Cannot write to the reserved channel {TASKS!r}: it carries Sends."
                )
        self._writes.extend(entries)
        return self

    def meta(self, *tags: str, **metadata: Any) -> Self:
        """Tags and metadata of the node, for its config, streams and traces."""
        self._tags.extend(tags)
        self._metadata.update(metadata)
        return self

    def add_retry_policies(self, *policies: RetryPolicy) -> Self:
        """When errors of the node are retried; of several, the first that matches decides."""
        self._retry.extend(policies)
        return self

    def add_cache_policy(self, policy: CachePolicy) -> Self:
        """When results are taken from the cache."""
        self._cache = policy
        return self

    def set_timeout(self, timeout: float | timedelta | TimeoutPolicy | None) -> Self:
        """How long one attempt may take.

        Raises:
            ValueError: a limit is no number of seconds above 0.
        """
        self._timeout = TimeoutPolicy.coerce(timeout)
        return self

    def build(self) -> PregelNode:
        """The node."""
        return PregelNode(
            channels=list(dict.fromkeys(self._channels)) if self._only is None else self._only,
            triggers=self._triggers,
            bound=NodeCode(self._actions, "node"),
            writers=self._writes,
            tags=self._tags,
            metadata=dict(self._metadata),
            retry_policy=list(self._retry),
            cache_policy=self._cache,
            timeout=self._timeout,
        )


__all__ = ["ChannelWriteEntry", "NodeBuilder", "NodeCode", "PregelNode"]
