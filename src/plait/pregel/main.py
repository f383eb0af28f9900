"""`Pregel`: a compiled graph, ready to be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, Self, cast

from plait.engine.plan import GraphPlan, Writes
from plait.engine.retries import policies_of
from plait.errors import (
    ConfigError,
    InvalidUpdateError,
    UnknownNodeError,
    nearest,
)
from plait.pregel.by_hand import assemble, built, check
from plait.pregel.caching import warn_of_missing_cache
from plait.pregel.calling import Called
from plait.pregel.configs import config_with
from plait.pregel.described import Described
from plait.pregel.drawn import Drawn
from plait.pregel.hints import tell_unknown_field
from plait.pregel.node import NodeBuilder, PregelNode
from plait.pregel.streamed import Streamed
from plait.pregel.threads import Threads
from plait.types import (
    CachePolicy,
    Checkpointer,
    Command,
    RetryPolicy,
    ensure_valid_checkpointer,
    ensure_valid_memory,
)
from plait.typing import ContextT, InputT, OutputT, StateT, subscriptable
from plait.warnings import take_renamed

if TYPE_CHECKING:
    from datetime import timedelta

    from plait.cache.base import BaseCache
    from plait.pregel.layout import Layout
    from plait.runnables.config import ConfigLike
    from plait.store.base import BaseStore
    from plait.stream.base import Factory
    from plait.types import TracePolicy


_BUILT_OF = ("__pydantic_validator__", "__dataclass_fields__")
"""Marks of classes that are built from a dict's entries: pydantic models, dataclasses."""


@subscriptable
class Pregel(
    Called[ContextT],
    Described,
    Drawn,
    Streamed,
    Threads,
    Generic[StateT, ContextT, InputT, OutputT],
):
    """A graph of nodes over channels, run in super-steps (Malewicz et al., *Pregel*, 2010).

    Made by `StateGraph.compile()` and `@entrypoint`, which compile to a plan; or by hand, from
    nodes that subscribe to channels and write to channels.

    Args:
        plan: a compiled graph; without one, `nodes` and `channels` are compiled.
        nodes: name to `NodeBuilder`.
        channels: name to channel.
        auto_validate: check at once that nodes and channels fit (else call `validate()`).
        stream_mode: what `stream()` tells unless it is asked for something else.
        stream_eager: accepted; parts are always streamed as they come.
        output_channels: one channel, whose value is the output, or those that are its keys.
        stream_channels: what streams of values and snapshots show (default: every channel).
        interrupt_after_nodes: nodes to stop after ("*": all).
        interrupt_before_nodes: nodes to stop before ("*": all).
        input_channels: one channel, which takes the input, or those that take its keys.
        step_timeout: the longest that a super-step may take, in seconds or as a timedelta (None
            and 0: as long as it takes).
        debug: print what happens.
        checkpointer: the saver that keeps its threads.
        store: long-term memory that nodes find in `runtime.store`.
        cache: keeps the results of nodes with a cache policy.
        cache_policy: that of nodes without one of their own.
        retry_policy: when errors of nodes are retried that have no policy of their own.
        context_schema: the type of the run context.
        config: what each call's config is added to.
        trigger_to_nodes: accepted; it follows from the nodes.
        name: the graph's name.
        stream_transformers: transform its streams of version "v3", as in `compile`.
        older: `config_type`, the older name of `context_schema`.

    Raises:
        InvalidGraphError: nodes and channels do not fit each other.

    >>> from plait.channels import EphemeralValue
    >>> from plait.pregel import NodeBuilder
    >>> double = NodeBuilder().subscribe_only("a").do(lambda a: a + a).write_to("b")
    >>> graph = Pregel(
    ...     nodes={"double": double},
    ...     channels={"a": EphemeralValue(str), "b": EphemeralValue(str)},
    ...     input_channels="a",
    ...     output_channels=["b"],
    ... )
    >>> graph.invoke("foo")
    {'b': 'foofoo'}
    """

    layout: Layout | None = None
    """How its checkpoints are shown (see `viewer`)."""

    def __init__(
        self,
        plan: GraphPlan | None = None,
        *,
        nodes: Mapping[str, PregelNode | NodeBuilder] | None = None,
        channels: Mapping[str, Any] | None = None,
        auto_validate: bool = True,
        stream_mode: str = "values",
        stream_eager: bool = False,
        output_channels: str | Sequence[str] = (),
        stream_channels: str | Sequence[str] | None = None,
        interrupt_after_nodes: str | Sequence[str] = (),
        interrupt_before_nodes: str | Sequence[str] = (),
        input_channels: str | Sequence[str] = (),
        step_timeout: float | timedelta | None = None,
        debug: bool | None = None,
        checkpointer: Checkpointer = None,
        store: BaseStore | None = None,
        cache: Any = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] = (),
        cache_policy: CachePolicy | None = None,
        context_schema: type[Any] | None = None,
        config: ConfigLike | None = None,
        trigger_to_nodes: Mapping[str, Sequence[str]] | None = None,
        name: str = "LangGraph",
        stream_transformers: Sequence[Factory] | None = None,
        **older: Any,
    ) -> None:
        taken = take_renamed("Pregel()", older, ("config_type",), context_schema=context_schema)
        self.retry_policy = policies_of(retry_policy)
        if plan is None:
            self._declared = built(nodes or {})
            plan = assemble(
                name,
                self._declared,
                channels or {},
                input_channels=input_channels,
                output_channels=output_channels,
                stream_channels=stream_channels,
                interrupt_before=interrupt_before_nodes,
                interrupt_after=interrupt_after_nodes,
                retry=self.retry_policy,
                cache=cache_policy,
            )
            warn_of_missing_cache(plan, cache, "Use Pregel(cache=InMemoryCache())")
            ensure_valid_checkpointer(checkpointer)
            ensure_valid_memory(store, cache)
        self.plan = plan
        self.checkpointer: Any = checkpointer
        self.store = store
        self.cache_policy = cache_policy
        self.cache: BaseCache[Any] | None = cache
        self.config = config
        self.context_schema = taken["context_schema"]
        self.name = name
        self.stream_mode = stream_mode
        self.stream_eager = stream_eager
        self.stream_transformers = tuple(stream_transformers or ())
        self.debug = bool(debug)
        self.step_timeout = step_timeout
        if auto_validate and self._declared is not None:
            self.validate()

    def validate(self) -> Self:
        """Check that nodes and channels fit each other.

        Raises:
            InvalidGraphError: they do not; the message says where.
        """
        check(self.plan, self._declared or {})
        return self

    # --- what subclasses know better -------------------------------------------------------------

    def coerce_context(self, context: Any) -> Any:
        """The run context in the form the graph declares: a dict becomes an object of its class."""
        schema = self.context_schema
        if not isinstance(context, dict) or not any(hasattr(schema, mark) for mark in _BUILT_OF):
            return cast("Any", context)
        given = cast("dict[str, Any]", context)
        try:
            return schema(**given)
        except TypeError as error:
            tell_unknown_field(schema, given, error)
            raise

    @property
    def trace_policies(self) -> Mapping[str, TracePolicy]:
        """Node to what tracers record of it, where that is not all."""
        return {}

    @property
    def takes_extras(self) -> bool:
        """Whether any node takes the extra keywords of a call (`**kwargs`)."""
        return False

    def command_writes(self, command: Command[Any]) -> Writes:
        """What a Command given as input writes.

        Raises:
            ConfigError: it says nothing.
            InvalidUpdateError: it names a parent graph, or what this graph cannot write.
        """
        if command.graph is not None:
            raise InvalidUpdateError("There is no parent graph")
        if command.resume is None and command.update is None and not command.goto:
            raise ConfigError(
                "An empty Command says nothing: give it resume=, update= or goto=. To answer None, "
                "pass Command(resume={interrupt_id: None})."
            )
        return self._steering(command)

    def _steering(self, command: Command[Any]) -> Writes:
        """The writes of a Command's update and goto."""
        if command.goto:
            raise InvalidUpdateError(
                f"Graph {self.name!r} has no routes to go by: its nodes run when a channel is "
                "written. Pass Command(update={channel: value})."
            )
        update = cast("dict[str, Any]", command.update or {})
        for key in update:
            if key not in self.plan.channels:
                raise InvalidUpdateError(
                    f"Graph {self.name!r} has no channel {key!r}. {nearest(key, self.channels)}"
                )
        return list(update.items())

    def registry(self) -> Any:
        """The types that this graph's threads may store (None: those registered globally)."""
        return None

    def teach(self, registry: Any) -> None:
        """Register what this graph's schemas name, where its runs are part of another graph's."""

    def calls_tasks(self) -> bool:
        """Whether nodes may call `@task`s, whose ends a stream tells while the node still runs."""
        return False

    # --- configuration ---------------------------------------------------------------------------

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        return super().get_name(suffix, name=name)

    def with_config(self, config: ConfigLike | None = None, **kwargs: Any) -> Self:
        """The same graph with a config that later calls add to.

        Raises:
            ConfigError: it is none, or has an entry that is none.
        """
        new = copy(self)
        new.config = cast(Any, config_with(cast(Any, self.config), cast(Any, config), kwargs))
        return new

    def copy(self, update: Mapping[str, Any] | None = None) -> Self:
        """The same graph with some attributes replaced.

        Raises:
            ConfigError: a graph has no such attribute.
        """
        new = copy(self)
        for key, value in (update or {}).items():
            if not hasattr(new, key):
                raise ConfigError(
                    f"A graph has no attribute {key!r} to replace. {nearest(key, vars(new))}"
                )
            setattr(new, key, value)
        return new

    def clear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """Drop cached results of these nodes (None: of all nodes).

        Raises:
            ConfigError: the graph has no cache.
            UnknownNodeError: it has no such node.
        """
        cache, namespaces = self._cached(nodes)
        cache.clear(namespaces)

    async def aclear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """`clear_cache` in an event loop."""
        cache, namespaces = self._cached(nodes)
        await cache.aclear(namespaces)

    def _cached(self, nodes: Sequence[str] | None) -> tuple[BaseCache[Any], list[tuple[str, ...]]]:
        if self.cache is None:
            raise ConfigError(
                f"No cache is set for graph {self.name!r}, so there is nothing to clear. Give it "
                "one: compile(cache=InMemoryCache())."
            )
        plans = self.plan.nodes
        for name in nodes or ():
            if name not in plans:
                raise UnknownNodeError(
                    f"Graph {self.name!r} has no node {name!r} to clear. {nearest(name, plans)}"
                )
        named = [plans[name] for name in nodes or plans]
        return self.cache, [plan.cache.namespace for plan in named if plan.cache is not None]

    # --- running ---------------------------------------------------------------------------------
