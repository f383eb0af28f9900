"""From nodes and channels to a plan: what `Pregel(nodes=..., channels=...)` is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from warnings import warn

from plait.channels.base import BaseChannel
from plait.constants import RESERVED, START
from plait.engine.inside import is_compiled
from plait.engine.plan import ByHand, CachePlan, Channel, GraphPlan, NodePlan, View, Writes
from plait.engine.tasks import Task
from plait.errors import InvalidGraphError, InvalidNodeError, UnknownNodeWarning, nearest
from plait.managed import is_managed_value
from plait.pregel.caching import namespace_of
from plait.pregel.node import NodeBuilder, NodeCode, PregelNode
from plait.scope import Scope, heard
from plait.types import CachePolicy, RetryPolicy
from plait.typing import MISSING
from plait.warnings import program_level

if TYPE_CHECKING:
    from plait.engine.state import State

Names = str | Sequence[str]


def built(nodes: Mapping[str, PregelNode | NodeBuilder]) -> dict[str, PregelNode]:
    """The nodes, those still in their builder built.

    Raises:
        InvalidNodeError: something is no node.
    """
    made: dict[str, PregelNode] = {}
    for name, node in nodes.items():
        ready = node.build() if isinstance(node, NodeBuilder) else node
        if not isinstance(ready, PregelNode):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidNodeError(
                f"Node {name!r} is {node!r}; expected a NodeBuilder: "
                "NodeBuilder().subscribe_only(channel).do(function).write_to(channel)."
            )
        made[name] = ready
    return made


def assemble(
    name: str,
    nodes: Mapping[str, PregelNode],
    channels: Mapping[str, Any],
    *,
    input_channels: Names,
    output_channels: Names,
    stream_channels: Names | None,
    interrupt_before: Names,
    interrupt_after: Names,
    retry: tuple[RetryPolicy, ...],
    cache: CachePolicy | None,
) -> GraphPlan:
    """The plan of a graph given as nodes and channels; `check` says whether it holds together."""
    managed = {key: kind for key, kind in channels.items() if is_managed_value(kind)}
    kept = {
        key: _prototype(key, cast("Channel", channel))
        for key, channel in channels.items()
        if isinstance(channel, BaseChannel)
    }
    readers: dict[str, tuple[str, ...]] = {}
    for node, spec in nodes.items():
        for trigger in spec.triggers:
            readers[trigger] = (*readers.get(trigger, ()), node)
    everything = View(tuple(kept))
    return GraphPlan(
        name=name,
        nodes={node: _node_plan(node, spec, managed, retry, cache) for node, spec in nodes.items()},
        channels=kept,
        readers=readers,
        routes={},
        input=input_channels if isinstance(input_channels, str) else tuple(input_channels),
        output=output_channels if isinstance(output_channels, str) else View(output_channels),
        stream=everything if stream_channels is None else stream_channels
        if isinstance(stream_channels, str) else View(stream_channels),
        interrupt_before=breakpoints(interrupt_before),
        interrupt_after=breakpoints(interrupt_after),
    )  # fmt: skip


def breakpoints(nodes: Names | None) -> frozenset[str] | None:
    """Breakpoints as a plan keeps them (None: every node, which is "*" here)."""
    if nodes == "*":
        return None
    return frozenset((nodes,) if isinstance(nodes, str) else nodes or ())


def breakpoints_of_call(plan: GraphPlan, nodes: Names) -> frozenset[str] | None:
    """Breakpoints that one call names; a node that the graph does not have is told.

    It is no error, as it is when a graph is built: a program may call several graphs alike.
    """
    named = breakpoints(nodes)
    for node in sorted((named or frozenset()) - plan.nodes.keys() - {START}, key=str):
        warn(
            f"The call of graph {plan.name!r} names {node!r} as a breakpoint, which is no node of "
            "it: the run does not stop there. " + nearest(node, plan.nodes, plan.renames.nodes),
            UnknownNodeWarning,
            stacklevel=program_level(),
        )
    return named


def _prototype(key: str, channel: Channel) -> Channel:
    """A channel of the same kind that belongs to this graph alone."""
    own = channel.from_checkpoint(MISSING)
    own.key = key
    return own


def _node_plan(
    name: str,
    spec: PregelNode,
    managed: Mapping[str, Any],
    retry: tuple[RetryPolicy, ...],
    cache: CachePolicy | None,
) -> NodePlan:
    bound, writes = spec.bound, spec.writes
    code = bound if isinstance(bound, NodeCode) else NodeCode((bound,), name)
    code.name = name
    computed = [key for key in spec.channels if key in managed]
    reads = spec.channels
    if not isinstance(reads, str):
        reads = View([key for key in reads if key not in managed])

    def call(task: Task, scope: Scope) -> Writes:
        return writes(heard(scope, code.call(task.input, scope)))

    async def acall(task: Task, scope: Scope) -> Writes:
        return writes(heard(scope, await code.acall(task.input, scope)))

    def update(state: State, values: Any) -> ByHand:
        yield from ()
        return writes(values)

    graphs = filter(is_compiled, spec.actions)
    kept = [graph for graph in graphs if graph.checkpointer is not False]
    return NodePlan(
        name,
        None if code.is_async else call,
        acall if code.awaits else None,
        reads=reads,
        triggers=tuple(spec.triggers),
        retry=tuple(spec.retry_policy or ()) or retry,
        timeout=spec.timeout,
        cache=_cache_plan(name, code, spec.cache_policy or cache),
        managed=tuple((key, managed[key].at) for key in computed),
        subgraph=kept[0] if kept else None,
        metadata=spec.metadata,
        tags=tuple(spec.tags or ()),
        update=update,
        code=code,
    )


def _cache_plan(name: str, code: NodeCode, policy: CachePolicy | None) -> CachePlan | None:
    """Where results of a node are cached: under all that it does."""
    if policy is None:
        return None
    does = "+".join(namespace_of(action)[-1] for action in code.actions)
    return CachePlan((*namespace_of(code)[:1], does, name), policy)


def check(plan: GraphPlan, nodes: Mapping[str, PregelNode], managed: Iterable[str] = ()) -> None:
    """Check that nodes and channels fit each other.

    Raises:
        InvalidGraphError: a reserved name, a channel that does not exist, an input that triggers
            nothing, an unknown breakpoint.
    """
    channels = {*plan.channels, *managed}
    for kind, names in (("Channel", plan.channels), ("Node", plan.nodes)):
        for name in names:
            if name in RESERVED:
                raise InvalidGraphError(f"{kind} name {name!r} is reserved; choose another.")

    def known(name: str, what: str) -> None:
        if name not in channels:
            raise InvalidGraphError(
                f"{what} {name!r}, which is no channel of graph {plan.name!r}. "
                f"{nearest(name, channels)}"
            )

    for name, node in nodes.items():
        reads = (node.channels,) if isinstance(node.channels, str) else node.channels
        for channel in (*reads, *node.triggers):
            known(channel, f"Node {name!r} reads channel")
        for entry in node.writers:
            known(entry.channel, f"Node {name!r} writes to channel")
    inputs = (plan.input,) if isinstance(plan.input, str) else plan.input
    for channel in inputs:
        known(channel, "The input is channel")
    if not any(channel in plan.readers for channel in inputs):
        raise InvalidGraphError(
            f"No node subscribes to the input {list(inputs)}, so nothing would ever run. "
            f"Subscribed to: {', '.join(map(repr, plan.readers)) or 'nothing'}."
        )
    for what, reads in (("output", plan.output), ("stream", plan.stream)):
        for channel in (reads,) if isinstance(reads, str) else reads.keys:
            known(channel, f"The {what} is channel")
    for node in (*(plan.interrupt_before or ()), *(plan.interrupt_after or ())):
        if node not in plan.nodes:
            raise InvalidGraphError(
                f"Interrupt node {node!r} not found. {nearest(node, plan.nodes)}"
            )
