"""From a `StateGraph` to the engine's plan, and the compiled graph itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from plait.channels.ephemeral_value import EphemeralValue
from plait.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
from plait.constants import END, ROOT, START
from plait.engine.called import Made, tasks_called
from plait.engine.plan import Channel, GraphPlan, NodePlan, Reads, View, Writes
from plait.errors import InvalidGraphError
from plait.graph.branch import route
from plait.graph.foresight import foresee
from plait.graph.nodes import NodeSpec, managed_keys, node_plan, start_plan
from plait.graph.policies import bind, handler_name
from plait.graph.renames import edges_of, join_name, renames_of
from plait.graph.schema import coercion, has_a_key, is_state_class, updates_of_object
from plait.graph.writing import Exit, Writer
from plait.pregel.main import Pregel
from plait.pregel.node import PregelNode
from plait.types import Command, Send, TracePolicy
from plait.typing import ContextT, InputT, OutputT, StateT

if TYPE_CHECKING:
    from plait.engine.migration import Renames
    from plait.graph.state import StateGraph
    from plait.pregel.outline import Outline


def build_plan(
    builder: StateGraph[Any],
    name: str,
    interrupt_before: frozenset[str] | None,
    interrupt_after: frozenset[str] | None,
    *,
    eager: bool = False,
) -> GraphPlan:
    """Compile the builder's nodes and edges into the engine's plan."""
    views: dict[Any, Reads] = {
        schema: ROOT if keys == (ROOT,) else View(keys) for schema, keys in builder.schemas.items()
    }
    channels: dict[str, Channel] = {START: EphemeralValue(builder.input_schema), **builder.channels}
    channels[START].key = START
    edges: dict[str, Writes] = {name: [] for name in (START, *builder.nodes)}
    for start, end in sorted(builder.edges):
        if end != END:
            edges[start].append((route(end), None))
    joins = _joins(builder, channels, edges)
    renames = renames_of(builder)
    nodes: dict[str, NodePlan] = {}
    for node, spec in builder.nodes.items():
        writer = _writer(builder, node, edges[node], spec.input_schema, views, renames)
        triggers = (route(node), *joins.get(node, ()))
        policies = spec.policies.over(builder.defaults)
        handler = _handler_plan(builder, node, policies.handler, views, renames)
        if handler is not None and spec.policies.handler is not None:
            nodes[handler.name] = handler
        reads = views[spec.input_schema]
        managed = managed_keys(builder.declared(spec.input_schema))
        nodes[node] = node_plan(spec, reads, managed, writer, triggers, policies, handler)
    defaults = (plan.handler for plan in nodes.values() if plan.handler is not None)
    nodes.update({plan.name: plan for plan in defaults if plan.name == handler_name(None)})
    writer = _writer(builder, START, edges[START], builder.state_schema, views, renames)
    taken = {key: channels[key] for key in builder.schemas[builder.input_schema]}
    nodes[START] = start_plan(builder.input_schema, taken, writer)
    return GraphPlan(
        name=name,
        nodes=nodes,
        channels=channels,
        readers={START: (START,)} | {join: (end,) for end in joins for join in joins[end]},
        routes={route(node): node for node in builder.nodes},
        input=START,
        output=views[builder.output_schema],
        stream=ROOT if ROOT in builder.channels else View(tuple(builder.channels)),
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        entry=START,
        foresight=foresee(builder, nodes) if eager else None,
        edges=edges_of(builder),
        version=builder.version,
        migrations=builder.migrations,
        renames=renames,
    )


def _joins(
    builder: StateGraph[Any], channels: dict[str, Channel], edges: Mapping[str, Writes]
) -> dict[str, dict[str, None]]:
    """Add a channel for each edge that waits for several nodes, and the writes that it waits for.

    Returns:
        The nodes that wait, each with the names of its channels.
    """
    joins: dict[str, dict[str, None]] = {}
    for starts, end in sorted(builder.waiting_edges):
        join = join_name(starts, end)
        kind = NamedBarrierValueAfterFinish if builder.nodes[end].defer else NamedBarrierValue
        channels[join] = kind(str, set(starts))
        channels[join].key = join
        joins.setdefault(end, {})[join] = None
        for start in starts:
            edges[start].append((join, start))
    return joins


def _handler_plan(
    builder: StateGraph[Any], node: str, code: Any, views: Mapping[Any, Reads], renames: Renames
) -> NodePlan | None:
    """The plan of a node's error handler: it is handed the node's input, and no edge leaves it."""
    if code is None:
        return None
    spec = builder.nodes[node]
    name = handler_name(node if spec.policies.handler is not None else None)
    if name in builder.nodes:
        raise InvalidGraphError(
            f"Node {name!r} already present, where the error handler of {node!r} was to be. Give "
            "it another name."
        )
    binding, runnable = bind(name, code)
    handler = NodeSpec(name, binding, runnable, spec.input_schema)
    writer = Writer(name, builder.channels, builder.nodes, [], (), renames.keys)
    policies = builder.defaults.for_handlers()
    reads = views[spec.input_schema]
    managed = managed_keys(builder.declared(spec.input_schema))
    return node_plan(handler, reads, managed, writer, (), policies, None)


def _writer(
    builder: StateGraph[Any],
    node: str,
    edges: Writes,
    schema: Any,
    views: Mapping[Any, Reads],
    renames: Renames,
) -> Writer:
    branches: list[Exit] = []
    for branch in builder.branches.get(node, {}).values():
        hinted = branch.reads_schema
        declares = isinstance(hinted, type) and builder.declared(hinted).is_mapping
        reads = hinted if declares and hinted in views else schema
        coerce = None if views[reads] == ROOT else coercion(reads)
        seen = views[reads]
        keys = () if isinstance(seen, str) else seen.keys
        passing = frozenset(key for key in keys if builder.channels[key].step_scoped)
        managed = managed_keys(builder.declared(reads))
        knows = None
        if isinstance(seen, View) and coerce is None and not declares:
            knows = seen.members
        branches.append(Exit(branch, seen, coerce, managed, passing, knows))
    return Writer(node, builder.channels, builder.nodes, edges, branches, renames.keys)


class CompiledStateGraph(Pregel[StateT, ContextT, InputT, OutputT]):
    """A `StateGraph` that can be run. Made by `StateGraph.compile()`."""

    def __init__(self, *, builder: StateGraph[Any], **kwargs: Any) -> None:
        super().__init__(stream_mode="updates", context_schema=builder.context_schema, **kwargs)
        self.builder = builder
        self._registry: Any = None
        self._tasks: tuple[Any, ...] | None = None
        """The functions of the tasks that its nodes call, once they were looked for."""

    @property
    def nodes(self) -> Mapping[str, PregelNode]:
        """Its nodes by name, the virtual start first."""
        nodes = super().nodes
        return {START: nodes[START], **nodes}

    def outline(self) -> Outline:
        from plait.graph.outline import outline_of  # only graphs that are drawn need it

        return outline_of(self.builder)

    @property
    def trace_policies(self) -> Mapping[str, TracePolicy]:
        return self.builder.trace_policies

    @property
    def takes_extras(self) -> bool:
        return any(spec.binding.takes_extras for spec in self.builder.nodes.values())

    @property
    def InputType(self) -> Any:
        return self.builder.input_schema

    @property
    def OutputType(self) -> Any:
        return self.builder.output_schema if self.plan.output == ROOT else None

    def as_output(self, values: Any) -> Any:
        build = coercion(self.builder.output_schema)
        return values if build is None else build(values)

    def as_input(self, given: Any) -> Any:
        builder = self.builder
        kind = cast("type[Any]", type(given))
        if kind in builder.schemas or issubclass(kind, Command | Send):
            return given
        keys = builder.schemas[builder.input_schema]
        if ROOT in keys or not is_state_class(kind) or not has_a_key(given, keys):
            return given
        return dict(updates_of_object(given, keys))

    def as_state(self, values: Any) -> Any:
        build = coercion(self.builder.state_schema)
        return values if build is None else build(values)

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        return self._schema_json("Input", self.builder.input_schema)

    def get_output_jsonschema(self, config: Any = None) -> dict[str, Any]:
        return self._schema_json("Output", self.builder.output_schema)

    def _schema_json(self, suffix: str, schema: Any) -> dict[str, Any]:
        from plait.pregel import schemas

        declared = self.builder.declared(schema)
        channels = declared.channels
        keys = None if ROOT in channels else {key: declared.hints[key] for key in channels}
        return schemas.schema_json(self.get_name(suffix), schema, keys)

    def _steering(self, command: Command[Any]) -> Writes:
        keys, nodes = self.builder.channels, self.builder.nodes
        writer = Writer("Command", keys, nodes, [], (), self.plan.renames.keys)
        return writer.update(Command(update=command.update, goto=command.goto))

    def registry(self) -> Any:
        """The closed registry of this graph: what its schemas name, made when first stored."""
        if self._registry is None:
            from plait.checkpoint.serde import GLOBAL  # only graphs that store need it

            registry = self._registry = GLOBAL.child()
            self.teach(registry)
            for _, inside in self.get_subgraphs(recurse=True):
                inside.teach(registry)
        return self._registry

    def teach(self, registry: Any) -> None:
        for schema in self.builder.schemas:
            registry.register_schema(schema)
        for function in self._called():
            registry.register_schema(function)

    def calls_tasks(self) -> bool:
        return Made.tasks and bool(self._called())

    def _called(self) -> tuple[Any, ...]:
        """The functions of the tasks that nodes call, looked for once."""
        if self._tasks is None:
            codes = [node.code for node in self.plan.nodes.values()]
            self._tasks = tuple(chain.from_iterable(map(tasks_called, codes)))
        return self._tasks
