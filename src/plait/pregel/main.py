"""`Pregel`: a compiled graph, ready to be called."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, cast

from plait.closing import aclose
from plait.constants import TOOLS_MODE
from plait.drivers.base import Part
from plait.engine.plan import GraphPlan, Reads, Writes
from plait.engine.retries import policies_of
from plait.errors import (
    ConfigError,
    InvalidUpdateError,
    UnknownNodeError,
    nearest,
)
from plait.pregel.by_hand import assemble, built, check
from plait.pregel.caching import warn_of_missing_cache
from plait.pregel.configs import limit_of, united_tags
from plait.pregel.described import Described
from plait.pregel.drawn import Drawn
from plait.pregel.hints import tell_unknown_field
from plait.pregel.node import NodeBuilder, PregelNode
from plait.pregel.parts import afinish, aparts_of, finish, parts_of, result_of, shaped
from plait.pregel.run import MODES, Options, Run
from plait.pregel.streamed import Streamed
from plait.pregel.threads import Threads
from plait.runnables.config import merge_configs
from plait.types import CachePolicy, Checkpointer, Command, RetryPolicy
from plait.typing import ContextT, InputT, OutputT, StateT, subscriptable
from plait.warnings import take_renamed, warn_renamed

if TYPE_CHECKING:
    from plait.cache.base import BaseCache
    from plait.pregel.layout import Layout
    from plait.runnables.config import ConfigLike
    from plait.runtime import RunControl
    from plait.store.base import BaseStore
    from plait.stream.base import Factory
    from plait.types import TracePolicy


DEBUG_MODES = ("updates", "values")
"""What `debug=True` prints."""
_NO_MODES: frozenset[str] = frozenset()
_BUILT_OF = ("__pydantic_validator__", "__dataclass_fields__")
"""Marks of classes that are built from a dict's entries: pydantic models, dataclasses."""


@subscriptable
class Pregel(Described, Drawn, Streamed, Threads, Generic[StateT, ContextT, InputT, OutputT]):
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
        step_timeout: the longest that a super-step may take.
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
        step_timeout: float | None = None,
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
            warn_of_missing_cache(plan, cache, "Use Pregel(cache=InMemoryCache())", 2)
        self.plan = plan
        self.checkpointer = checkpointer
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

    # --- configuration ---------------------------------------------------------------------------

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        return super().get_name(suffix, name=name)

    def with_config(self, config: ConfigLike | None = None, **kwargs: Any) -> Self:
        """The same graph with a config that later calls add to."""
        new = copy(self)
        new.config = merge_configs(self.config, config, cast(Any, kwargs))
        if "tags" in new.config:  # in the order in which they were given
            new.config["tags"] = united_tags(self.config, config, kwargs)
        limit = limit_of(cast(Any, self.config), cast(Any, config), kwargs)
        if limit is not None:
            new.config["recursion_limit"] = limit
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

    def invoke(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] = "values",
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        durability: str | None = None,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Any:
        """Run the graph to its end, or to where it waits, and return its output.

        Args:
            input: the input; None continues a stored thread; a Command answers or steers it.
            config: whose `configurable["thread_id"]` says which thread, where there is a saver.
            context: the run context that nodes find in `runtime.context`.
            stream_mode: "values" returns the final state; another mode, or a list of modes, the
                list of all parts.
            print_mode: modes that are printed while it runs, without being returned.
            output_keys: the keys to return (None: those of the output schema).
            interrupt_before: nodes to stop before ("*": all).
            interrupt_after: nodes to stop after ("*": all).
            durability: "sync" (default), "async" or "exit"; see `plait.types.Durability`.
            version: "v2" returns a `GraphOutput` (state and questions apart), and parts of
                streams as dicts of type, ns and data.
            control: asks the run, from outside, to stop between two super-steps (`RunControl`).
            **kwargs: `deadline=` says when the run must have ended, here or where it is continued
                (seconds from now, or a datetime); `debug=True` prints what happens; others go to
                nodes that take `**kwargs`.

        Returns:
            The state; with the questions under "__interrupt__" where the run waits for answers.

        Raises:
            ConfigError: a keyword that no node takes, an unknown mode, no thread id.
            GraphDrained: the run was asked to stop; it can be resumed.
            GraphRecursionError: more super-steps than the config's `recursion_limit`.
            ThreadBusyError: another live run owns the thread.
        """
        run = self._run(
            "sync",
            input,
            config,
            stream_mode if stream_mode != "values" else (),
            print_mode,
            output_keys,
            interrupt_before,
            interrupt_after,
            durability,
            context=context,
            extras=kwargs,
            control=control,
        )
        if not run.modes and not run.has_listeners():
            finish(run)
            return result_of(run, stream_mode, [], version)
        asked = _collected(stream_mode)
        ns = run.ns if asked else ()
        parts: list[Any] = []
        for part in self._drive(run):
            if asked and part[1] in asked and part[0] == ns:
                parts.append(shaped(part, run, stream_mode, False, version))
        return result_of(run, stream_mode, parts, version)

    async def ainvoke(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] = "values",
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        durability: str | None = None,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Any:
        """`invoke`, in an event loop: async nodes run on it, sync nodes in worker threads."""
        run = self._run(
            "async",
            input,
            config,
            stream_mode if stream_mode != "values" else (),
            print_mode,
            output_keys,
            interrupt_before,
            interrupt_after,
            durability,
            context=context,
            extras=kwargs,
            control=control,
        )
        if not run.modes and not run.has_listeners():
            await afinish(run)
            return result_of(run, stream_mode, [], version)
        asked = _collected(stream_mode)
        ns = run.ns if asked else ()
        parts: list[Any] = []
        async for part in self._adrive(run):
            if asked and part[1] in asked and part[0] == ns:
                parts.append(shaped(part, run, stream_mode, False, version))
        return result_of(run, stream_mode, parts, version)

    def stream(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        durability: str | None = None,
        subgraphs: bool = False,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Run the graph and yield what happens, as it happens.

        Args:
            stream_mode: one mode yields its payloads; a list of modes yields (mode, payload).
                "values": the state after each super-step; "updates": what each node wrote;
                "messages": (chunk, metadata) of what models say; "custom": what nodes write with
                a stream writer; "tools": tool calls; "tasks", "checkpoints", "debug".
            subgraphs: also yield what nested graphs tell, each part led by its namespace.

        The other arguments, and the errors, are those of `invoke`. Leaving the loop, or closing
        the iterator, stops the run.
        """
        mode = stream_mode if stream_mode is not None else self.stream_mode
        run = self._run(
            "sync",
            input,
            config,
            mode,
            print_mode,
            self.plan.stream if output_keys is None else output_keys,
            interrupt_before,
            interrupt_after,
            durability,
            subgraphs=subgraphs,
            context=context,
            extras=kwargs,
            control=control,
        )
        asked = _asked(mode)
        for part in self._drive(run):
            if part[1] in asked and (subgraphs or part[0] == run.ns):
                told = shaped(part, run, mode, subgraphs, version)
                if run.listening is not None and run.listening.hears_chunks:
                    run.listening.chunk(told)
                yield told

    async def astream(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        durability: str | None = None,
        subgraphs: bool = False,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """`stream` in an event loop; the arguments and the errors are the same."""
        mode = stream_mode if stream_mode is not None else self.stream_mode
        run = self._run(
            "async",
            input,
            config,
            mode,
            print_mode,
            self.plan.stream if output_keys is None else output_keys,
            interrupt_before,
            interrupt_after,
            durability,
            subgraphs=subgraphs,
            context=context,
            extras=kwargs,
            control=control,
        )
        asked = _asked(mode)
        parts = self._adrive(run)
        try:
            async for part in parts:
                if part[1] in asked and (subgraphs or part[0] == run.ns):
                    told = shaped(part, run, mode, subgraphs, version)
                    if run.listening is not None and run.listening.hears_chunks:
                        await cast("Any", run.listening.chunk(told))
                    yield told
        finally:
            await aclose(parts)

    def _run(
        self,
        native: Literal["sync", "async"],
        given: Any,
        config: ConfigLike | None,
        stream_mode: str | Sequence[str],
        print_mode: str | Sequence[str],
        output_keys: Reads | Sequence[str] | None,
        before: Sequence[str] | str | None,
        after: Sequence[str] | str | None,
        durability: str | None,
        *,
        context: Any,
        extras: dict[str, Any],
        control: RunControl | None,
        subgraphs: bool = False,
    ) -> Run:
        """One call, from its arguments to a run that a driver can take."""
        debugs, deadline = self.debug, None
        if extras:
            said = extras.pop("debug", None)
            debugs = debugs if said is None else said
            deadline = extras.pop("deadline", None)
            state = extras.pop("input_state", None)  # an older spelling (reference documents)
            given = state if given is None else given
            if "checkpoint_during" in extras:
                durability = _older_durability(extras.pop("checkpoint_during"), durability)
        printed = _asked(print_mode or DEBUG_MODES) if print_mode or debugs else ()
        modes = _known_modes(_asked(stream_mode), printed) if stream_mode or printed else _NO_MODES
        options = Options()
        options.modes = modes
        options.printed = printed
        options.output_keys = output_keys
        options.interrupt_before = before
        options.interrupt_after = after
        options.durability = durability
        options.subgraphs = subgraphs
        options.context = context
        options.extras = extras
        options.control = control
        options.deadline = deadline
        run = Run(self, given, config, options, native)
        if TOOLS_MODE in modes:
            from plait.pregel.tool_stream import listen_to_tools  # few runs stream their tools

            listen_to_tools(run)
        return run

    def _drive(self, run: Run) -> Generator[Part, None, None]:
        """The parts of a run; those who listen are told of it."""
        if not run.has_listeners():
            return parts_of(run)
        from plait.pregel.listening import told  # few runs have listeners

        return told(run, parts_of(run))

    def _adrive(self, run: Run) -> AsyncGenerator[Part, None]:
        """`_drive` in an event loop."""
        if not run.has_listeners():
            return aparts_of(run)
        from plait.pregel.listening import atold  # as above

        return atold(run, aparts_of(run))


def _known_modes(asked: tuple[str, ...], printed: tuple[str, ...]) -> frozenset[str]:
    """The modes of a run.

    Raises:
        ConfigError: there is no such mode.
    """
    modes = frozenset({*asked, *printed})
    unknown = modes - MODES
    if unknown:
        name = sorted(unknown)[0]
        raise ConfigError(f"Unknown stream mode {name!r}. {nearest(name, sorted(MODES))}")
    return modes


def _older_durability(during: bool | None, durability: str | None) -> str | None:
    """The durability that the older `checkpoint_during` asks for (None: it was not given).

    Raises:
        ConfigError: both were given.
    """
    if during is None:
        return durability
    warn_renamed("checkpoint_during", stacklevel=4)
    if durability is not None:
        raise ConfigError(
            "checkpoint_during= and durability= were both given; durability= is the one to keep."
        )
    return "async" if during else "exit"


def _collected(mode: str | Sequence[str]) -> tuple[str, ...]:
    """The modes whose parts are the result; the final state is none of them."""
    return () if mode == "values" else _asked(mode)


def _asked(mode: str | Sequence[str]) -> tuple[str, ...]:
    return (mode,) if isinstance(mode, str) else tuple(mode)
