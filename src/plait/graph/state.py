"""`StateGraph`: nodes that share a state, and the edges between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, cast, get_type_hints
from warnings import warn

from plait.channels.last_value import LastValue
from plait.common.lazy import lazily
from plait.common.reflection import is_routine
from plait.constants import END, RESERVED, START
from plait.engine.migration import Migration, former_names
from plait.errors import (
    InvalidGraphError,
    InvalidNodeError,
    StaleGraphWarning,
    nearest,
)
from plait.graph.branch import Branch, literals
from plait.graph.checks import check_structure
from plait.graph.compile import CompiledStateGraph, build_plan
from plait.graph.foresight import declared_writes
from plait.graph.nodes import NodeSpec
from plait.graph.policies import (
    NOTHING,
    Policies,
    bind,
    check_trace_policy,
    checked_metadata,
    handler_name,
)
from plait.graph.renames import check_versions
from plait.graph.schema import Declared, agree, is_keyed
from plait.pregel.by_hand import breakpoints
from plait.pregel.caching import warn_of_missing_cache
from plait.pregel.unknown import OnUnknown
from plait.runnables.known import is_runnable
from plait.types import (
    CachePolicy,
    Checkpointer,
    Command,
    RetryPolicy,
    TracePolicy,
    ensure_valid_checkpointer,
    ensure_valid_memory,
)
from plait.typing import ContextT, InputT, OutputT, StateT, subscriptable
from plait.warnings import take_renamed

if TYPE_CHECKING:
    from plait.store.base import BaseStore
    from plait.stream.base import Factory

Path = Callable[..., Hashable | Sequence[Hashable] | Awaitable[Hashable | Sequence[Hashable]]]


__getattr__ = lazily(__name__, {"RunnableConfig": "plait.runnables.config"})

SCHEDULES = ("superstep", "eager")


@subscriptable
class StateGraph(Generic[StateT, ContextT, InputT, OutputT]):
    """A graph whose nodes read a shared state and return updates of it.

    Args:
        state_schema: a TypedDict, dataclass or pydantic model whose fields are the keys of the
            state (`Annotated[T, reducer]` says how updates of a key combine), or any other type
            for a state that is one value.
        context_schema: the type of the run context (`invoke(..., context=...)`).
        input_schema: what the graph takes; the state schema by default.
        output_schema: what it returns; the state schema by default.
        version: the version of the state schema. Raise it when stored threads need a migration.
        migrations: version to function: the values of a state at that version (a dict, which it
            may change) -> those at the next. Applied when an older checkpoint is restored.
        older: the deprecated `config_schema`, `input` and `output`.

    >>> from operator import add
    >>> from typing import Annotated, TypedDict
    >>> State = TypedDict("State", {"log": Annotated[list[str], add]})
    >>> builder = StateGraph(State)
    >>> builder = builder.add_node("hello", lambda state: {"log": ["hello"]})
    >>> builder = builder.add_edge(START, "hello").add_edge("hello", END)
    >>> builder.compile().invoke({"log": []})
    {'log': ['hello']}
    """

    def __init__(
        self,
        state_schema: type[StateT],
        context_schema: type[ContextT] | None = None,
        *,
        input_schema: Any = None,
        output_schema: Any = None,
        version: int = 1,
        migrations: Mapping[int, Migration] | None = None,
        **older: Any,
    ) -> None:
        given = take_renamed(
            "StateGraph()",
            older,
            ("config_schema", "input", "output"),
            context_schema=context_schema,
            input_schema=input_schema,
            output_schema=output_schema,
        )
        input_schema, output_schema = given["input_schema"], given["output_schema"]
        self.state_schema: Any = state_schema
        self.context_schema: Any = given["context_schema"]
        self.input_schema: Any = input_schema or state_schema
        self.output_schema: Any = output_schema or state_schema
        self.nodes: dict[str, NodeSpec] = {}
        self.trace_policies: dict[str, TracePolicy] = {}
        """Node to what tracers record of it."""
        self.compiled = False
        """Whether a graph was compiled from it: changes come too late for that one."""
        self.defaults = NOTHING
        """Policies of nodes that say nothing themselves."""
        self.edges: set[tuple[str, str]] = set()
        self.waiting_edges: set[tuple[tuple[str, ...], str]] = set()
        self.branches: dict[str, dict[str, Branch]] = {}
        self.channels: dict[str, Any] = {}
        self.schemas: dict[Any, tuple[str, ...]] = {}
        self.former_keys: dict[str, tuple[str, ...]] = {}
        """The names that keys had before (`RenamedFrom`)."""
        self._declared: dict[Any, Declared] = {}
        for schema in (self.state_schema, self.input_schema, self.output_schema):
            self._add_schema(schema)
        for name, schema in (("input_schema", input_schema), ("output_schema", output_schema)):
            if schema is not None and (found := self.declared(schema).managed):
                raise InvalidGraphError(
                    f"Managed values {sorted(found)} cannot be in {name}: the run computes them. "
                    "Declare them in the state schema, or in the schema of a node that reads them."
                )
        self.version = version
        self.migrations = check_versions(version, migrations or {}, self.channels)

    def _add_schema(self, schema: Any) -> None:
        """Declare the keys of a schema."""
        if isinstance(schema, (Mapping, str, list, tuple)):
            raise InvalidGraphError(
                f"A schema is a class (a TypedDict, dataclass or pydantic model), got {schema!r}."
            )
        if schema in self.schemas:
            return
        declared = self.declared(schema)
        channels = declared.channels
        for key, channel in channels.items():
            known = self.channels.get(key)
            if known is None or (
                isinstance(known, LastValue) and not isinstance(channel, LastValue)
            ):
                self.channels[key] = channel
            elif not isinstance(channel, LastValue) and not agree(channel, known):
                raise InvalidGraphError(
                    f"Channel {key!r} already exists with a different type: two schemas give it "
                    f"different reducers ({known!r} and {channel!r}). Declare it once."
                )
        for key, names in declared.former.items():
            self.former_keys[key] = tuple(dict.fromkeys((*self.former_keys.get(key, ()), *names)))
        self.schemas[schema] = tuple(channels)

    @property
    def managed(self) -> dict[str, Any]:
        """The keys that runs compute (`RemainingSteps`, say): key to what computes it."""
        return {
            k: kind for schema in self.schemas for k, kind in self.declared(schema).managed.items()
        }

    def declared(self, schema: Any) -> Declared:
        """What a schema declares: read once for each graph, however many nodes name it."""
        known = self._declared.get(schema)
        if known is None:
            known = self._declared[schema] = Declared(schema)
        return known

    if not TYPE_CHECKING:  # an editor that saw it would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            # Only for names that it has not itself.
            if hasattr(CompiledStateGraph, name):
                raise AttributeError(
                    f"A StateGraph has no {name!r}: compile it, and call what compile() returns."
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # --- nodes -----------------------------------------------------------------------------------

    def add_node(
        self,
        node: Any,
        action: Any = None,
        *,
        defer: bool = False,
        metadata: dict[str, Any] | None = None,
        input_schema: Any = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy | None = None,
        error_handler: Any = None,
        destinations: Mapping[str, str] | tuple[str, ...] | None = None,
        timeout: Any = None,
        trace_policy: TracePolicy | None = None,
        renamed_from: str | Sequence[str] = (),
        writes: Sequence[str] | None = None,
        on_unknown: OnUnknown | None = None,
        **older: Any,
    ) -> StateGraph[StateT]:
        """Add a node.

        Args:
            node: its name, or the function (then the function's name is the node's).
            action: the function, callable object, partial, bound method or Runnable, sync or async.
            defer: run it only when nothing else is left to run.
            metadata: shown in streams and traces.
            input_schema: what it reads (default: its first parameter's annotation if that is a
                schema, else the state).
            retry_policy: when its errors are retried; of several, the first that matches decides.
            cache_policy: when its result is taken from the graph's cache instead of running it.
            error_handler: what runs in its place when it has failed for good: a node of its own,
                with the same input and, where a parameter is annotated with `NodeError`, the error.
                It may return a Command; the node's edges are not followed.
            timeout: how long one attempt may take, in seconds or as a `TimeoutPolicy`.
            trace_policy: what tracers record of its input and output (`TracePolicy`).
            destinations: where its Commands may go.
            renamed_from: the names it had before, oldest first: threads that were stored under one
                of them go on under today's.
            writes: the keys that it may write, for the eager schedule (default: those of the
                schema that annotates its return value, else any).
            on_unknown: makes a node that must not be repeated: what happens when its process died,
                or it took too long, and nobody knows whether it did its work. "ask" asks a person,
                a function looks (see `UnknownOutcome`), "retry" runs it again, as by default.

        Returns:
            The graph, so that calls chain.

        Raises:
            InvalidGraphError: the name is taken, reserved or invalid.
            InvalidNodeError: there is no function, or it has parameters that nothing can fill.
        """
        if not isinstance(node, str):
            action, node = node, node_name(node)
        elif action is None:
            raise InvalidNodeError(
                f"add_node({node!r}) needs the function of the node: add_node({node!r}, function)."
            )
        self._check_name(node)
        self._warn_if_compiled(f"Node {node!r}")
        if older:
            given = take_renamed(
                "add_node()",
                older,
                ("input", "retry"),
                of=cast("Any", StateGraph).add_node,
                input_schema=input_schema,
                retry_policy=retry_policy,
            )
            input_schema, retry_policy = given["input_schema"], given["retry_policy"]
        if trace_policy is not None:
            self.trace_policies[node] = check_trace_policy(node, trace_policy)
        if error_handler is not None:
            bind(handler_name(node), error_handler)  # a handler that cannot be called is told here
        binding, runnable = bind(node, action)
        hints = _hints(action) if runnable is None else {}
        schema = input_schema or self._schema_hint(hints.get(binding.first)) or self.state_schema
        self._add_schema(schema)
        self.nodes[node] = NodeSpec(
            node,
            binding,
            runnable,
            schema,
            checked_metadata(node, metadata),
            Policies.of(retry_policy, cache_policy, timeout, error_handler, on_unknown),
            defer,
            destinations if destinations is not None else _command_ends(hints),
            former=former_names(renamed_from, f"renamed_from of node {node!r}"),
            writes=declared_writes(writes, hints, runnable, self.declared),
            retry_policy=retry_policy,
        )
        return self

    def _schema_hint(self, hint: Any) -> Any:
        """The annotation of a node's first parameter, if it is a schema."""
        if not isinstance(hint, type) or hint.__name__ == "Runtime":
            return None
        return hint if is_keyed(hint) and self.declared(hint).is_mapping else None

    def set_node_defaults(
        self,
        *,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy | None = None,
        error_handler: Any = None,
        timeout: Any = None,
        on_unknown: OnUnknown | None = None,
    ) -> StateGraph[StateT]:
        """Policies of all nodes that say nothing themselves, whenever they were added.

        Args:
            retry_policy: when errors are retried; of error handlers too.
            cache_policy: when results are taken from the graph's cache.
            error_handler: what runs in place of a node that has failed for good.
            timeout: how long one attempt may take; of error handlers too.
            on_unknown: what happens to nodes whose outcome nobody knows; not to error handlers.

        The arguments are those of `add_node`. Nodes of subgraphs do not inherit them.
        """
        if error_handler is not None:
            bind(handler_name(None), error_handler)
        given = Policies.of(retry_policy, cache_policy, timeout, error_handler, on_unknown)
        self.defaults = given.over(self.defaults)
        return self

    def _warn_if_compiled(self, what: str) -> None:
        if self.compiled:
            warn(
                f"{what} was added to a graph that has been compiled; the compiled graph does not "
                "change. Compile again after the last change.",
                StaleGraphWarning,
                stacklevel=3,
            )

    def _check_name(self, node: str) -> None:
        if node in self.nodes:
            raise InvalidGraphError(f"Node {node!r} already present. Give this one another name.")
        if node in (START, END) or node in RESERVED:
            raise InvalidGraphError(f"Node {node!r} is reserved; choose another name.")
        for char in "|:":
            if char in node:
                raise InvalidGraphError(
                    f"{char!r} is a reserved character and is not allowed in the node names "
                    f"({node!r})."
                )

    def add_sequence(self, nodes: Sequence[Any]) -> StateGraph[StateT]:
        """Add nodes, functions or (name, function) pairs, that run one after the other.

        Raises:
            InvalidGraphError: there is none, or a name is taken.
            InvalidNodeError: a tuple is no pair of a name and a function.
        """
        if not nodes:
            raise InvalidGraphError("Sequence requires at least one node.")
        previous: str | None = None
        for node in nodes:
            name, action = _named(node)
            if name in self.nodes:
                raise InvalidGraphError(
                    f"Node names must be unique: node with the name {name!r} already exists."
                )
            self.add_node(name, action)
            if previous is not None:
                self.add_edge(previous, name)
            previous = name
        return self

    # --- edges -----------------------------------------------------------------------------------

    def add_edge(self, start_key: str | Sequence[str], end_key: str) -> StateGraph[StateT]:
        """Let `end_key` run after `start_key`, or after all of a list of nodes.

        Args:
            start_key: a node, START, or a list of nodes that are all waited for.
            end_key: a node, or END. Names are checked by `compile`; those of a list at once.

        Raises:
            InvalidGraphError: it starts at END, ends at START, or a list names an unknown node.
            InvalidNodeError: it ends at several nodes; add one edge for each.

        >>> graph = StateGraph(dict).add_node("a", print).add_node("b", print)
        >>> _ = graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", END)
        """
        self._warn_if_compiled(f"The edge from {start_key!r} to {end_key!r}")
        starts = (start_key,) if isinstance(start_key, str) else tuple(start_key)
        if not starts:
            raise InvalidGraphError(f"The edge to {end_key!r} has no start.")
        for start in starts:
            if start == END:
                raise InvalidGraphError("END cannot be a start node")
            if start == START and not isinstance(start_key, str):
                raise InvalidGraphError("START cannot be one of several nodes that are waited for.")
            if not isinstance(start_key, str) and start not in self.nodes:
                raise InvalidGraphError(f"Need to add_node {start!r} first")
        if isinstance(end_key, (list, tuple)):
            raise InvalidNodeError(
                f"An edge ends at one node, got {end_key!r}. Add an edge to each of them; they run "
                "beside each other."
            )
        if end_key == START:
            raise InvalidGraphError("START cannot be an end node")
        if isinstance(start_key, str):
            self.edges.add((start_key, end_key))
            return self
        if end_key == END:  # it need not wait: the graph ends by itself when all have run
            self.edges.update((start, END) for start in starts)
            return self
        if end_key not in self.nodes:
            raise InvalidGraphError(f"Need to add_node {end_key!r} first")
        self.waiting_edges.add((starts, end_key))
        return self

    def add_conditional_edges(
        self,
        source: str,
        path: Any,
        path_map: Mapping[Hashable, str] | Sequence[str] | None = None,
    ) -> StateGraph[StateT]:
        """Let a function of the state decide what runs after `source`.

        Args:
            source: the node.
            path: returns a node's name, END, a `Send`, or a list of them; sync or async.
            path_map: maps its results to nodes (a list: the nodes it may name). Without one, a
                `Literal` return annotation says which nodes it may name.

        Raises:
            InvalidGraphError: the source has a conditional edge of this name already.
        """
        self._warn_if_compiled(f"The conditional edge after {source!r}")
        name = _path_name(path)
        branches = self.branches.setdefault(source, {})
        if name in branches:
            raise InvalidGraphError(
                f"Branch with name {name!r} already exists for node {source!r}. Use another "
                "function, or decide everything in one."
            )
        branch = Branch(source, path, path_map, name)
        branches[name] = branch
        hinted = branch.reads_schema
        if isinstance(hinted, type) and self.declared(hinted).is_mapping:
            self._add_schema(hinted)
        return self

    def set_entry_point(self, key: str) -> StateGraph[StateT]:
        """The node that runs first: `add_edge(START, key)`."""
        return self.add_edge(START, key)

    def set_conditional_entry_point(
        self, path: Any, path_map: Mapping[Hashable, str] | Sequence[str] | None = None
    ) -> StateGraph[StateT]:
        """Let a function of the input state decide what runs first."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, key: str) -> StateGraph[StateT]:
        """The graph may end after this node: `add_edge(key, END)`."""
        return self.add_edge(key, END)

    # --- checking and compiling ------------------------------------------------------------------

    def validate(self, interrupt: Sequence[str] | None = None) -> StateGraph[StateT]:
        """Check the structure.

        Raises:
            InvalidGraphError: an edge from or to a node that does not exist, no entry point, an
                unknown interrupt node.

        Warns:
            UnreachableNodeWarning: nothing leads to a node.
        """
        check_structure(self, interrupt or ())
        return self

    def compile(
        self,
        checkpointer: Checkpointer = None,
        *,
        cache: Any = None,
        store: BaseStore | None = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        debug: bool = False,
        name: str | None = None,
        transformers: Sequence[Factory] | None = None,
        schedule: Literal["superstep", "eager"] = "superstep",
    ) -> CompiledStateGraph[StateT, ContextT, InputT, OutputT]:
        """Check the graph and make it runnable.

        Args:
            checkpointer: the saver that keeps its threads. As a subgraph: None inherits the
                parent's, True keeps a memory of its own, False keeps nothing.
            cache: where results of nodes with a cache policy are kept.
            transformers: classes of `StreamTransformer`, or functions that make one for a
                namespace: they transform the streams of version "v3" (`stream_events`).
            store: long-term memory that nodes find in `runtime.store`.
            interrupt_before: nodes to stop before ("*": all).
            interrupt_after: nodes to stop after ("*": all).
            debug: print what happens.
            name: the graph's name.
            schedule: "superstep" starts the tasks of a super-step together, once all before it
                have ended; "eager" starts a task as soon as nothing that still runs can write what
                it reads. Results and checkpoints are the same. See docs/scheduling.md.

        Raises:
            InvalidGraphError: the structure is wrong (see `validate`), or an unknown schedule.
            TypeError: a saver, store or cache is none, or its class.

        Warns:
            UnusedCachePolicyWarning: nodes have a cache policy, and there is no cache.
        """
        before, after = breakpoints(interrupt_before), breakpoints(interrupt_after)
        self.validate([*(before or ()), *(after or ())])
        ensure_valid_checkpointer(checkpointer)
        ensure_valid_memory(store, cache)
        if schedule not in SCHEDULES:
            raise InvalidGraphError(
                f"Unknown schedule {schedule!r}. {nearest(schedule, SCHEDULES)}"
            )
        plan = build_plan(self, name or "LangGraph", before, after, eager=schedule == "eager")
        warn_of_missing_cache(plan, cache, "Use compile(cache=InMemoryCache())")
        self.compiled = True
        return CompiledStateGraph(
            builder=self,
            plan=plan,
            checkpointer=checkpointer,
            store=store,
            cache=cache,
            name=name or "LangGraph",
            debug=debug,
            stream_transformers=transformers,
        )


def node_name(action: Any) -> str:
    """The name a function gives its node.

    Raises:
        InvalidGraphError: it has none.
    """
    if is_runnable(action) and hasattr(action, "get_name"):
        return action.get_name()
    name = getattr(action, "__name__", None)
    if name is None and not is_routine(action):
        name = type(action).__name__
    if not name:
        raise InvalidGraphError(f"Node name must be provided: {action!r} has none.")
    return name


def _named(node: Any) -> tuple[Any, Any]:
    """The name and the function of a node of a sequence.

    Raises:
        InvalidNodeError: it is a tuple, and no pair of these.
    """
    if not isinstance(node, tuple):
        return node_name(node), node
    pair = cast("tuple[Any, ...]", node)
    if len(pair) == 2:
        return pair
    raise InvalidNodeError(f"A node of a sequence is a function or (name, function), got {node!r}.")


def _path_name(path: Any) -> str:
    return getattr(path, "__name__", None) or getattr(path, "name", None) or (
        node_name(path) if callable(path) else "condition"
    )  # fmt: skip


def _hints(action: Any) -> dict[str, Any]:
    while isinstance(action, partial):
        action = cast(Any, action).func
    if not is_routine(action):
        action = getattr(cast("Any", type(action)), "__call__", action)  # noqa: B004
    try:
        return get_type_hints(action)
    except Exception:  # annotations are the user's; none that resolve means none
        return {}


def _command_ends(hints: dict[str, Any]) -> tuple[str, ...]:
    """The nodes that a `Command[Literal[...]]` return annotation names."""
    returned: Any = hints.get("return")
    for hint in (returned, *getattr(returned, "__args__", ())):
        if getattr(hint, "__origin__", None) is Command:
            return literals(hint.__args__[0])
    return ()


StateNodeSpec = NodeSpec
"""What `StateGraph.nodes` holds, under its name there."""

__all__ = ["CompiledStateGraph", "StateGraph", "StateNodeSpec"]
