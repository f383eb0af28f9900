"""What an eager schedule knows before a node has run: what it reads, and what may be written.

A node's writes are those that `add_node(writes=)` names, else the keys of the schema that annotates
its return value, else all keys. What follows it are the nodes that its edges, conditional edges and
declared destinations lead to; where code decides freely, all nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plait.channels.binop import BinaryOperatorAggregate
from plait.channels.last_value import LastValue
from plait.common.reflection import is_routine
from plait.constants import ROOT
from plait.engine.plan import Foresight, NodePlan, View
from plait.graph.routes import may_route
from plait.types import Command, Send

if TYPE_CHECKING:
    from plait.graph.nodes import NodeSpec
    from plait.graph.schema import Declared
    from plait.graph.state import StateGraph


def foresee(builder: StateGraph[object], nodes: Mapping[str, NodePlan]) -> Mapping[str, Foresight]:
    """What is known of each node of a graph."""
    keys = frozenset(builder.channels)
    return {
        name: Foresight(
            _needs(builder, nodes[name], sent=False),
            _needs(builder, nodes[name], sent=True),
            keys if nodes[name].handler else _writes(builder.nodes.get(name), keys),
            frozenset(builder.nodes if nodes[name].handler else _leads_to(builder, name))
            & nodes.keys(),
        )  # an error handler may write any key, and send the run anywhere
        for name in nodes
    }


def declared_writes(
    named: Sequence[str] | None,
    hints: Mapping[str, Any],
    runnable: Any,
    declared: Callable[[Any], Declared],
) -> frozenset[str] | None:
    """The keys that a node says it may write; None: it says nothing.

    Args:
        named: what `add_node(writes=)` was given.
        hints: the resolved annotations of its function.
        runnable: the Runnable that it is; a compiled graph writes the keys of its output.
        declared: what a schema declares.
    """
    if named is not None:
        return frozenset(named)
    builder = getattr(runnable, "builder", None)
    if builder is not None:
        return frozenset(builder.schemas[builder.output_schema])
    returned = hints.get("return")
    if not isinstance(returned, type) or returned in (Command, Send):
        return None
    schema = declared(returned)
    return frozenset(schema.channels) if schema.is_mapping else None


def _writes(spec: NodeSpec | None, keys: frozenset[str]) -> frozenset[str]:
    declared = None if spec is None else spec.writes
    return keys if declared is None else declared & keys


def _needs(builder: StateGraph[object], node: NodePlan, *, sent: bool) -> frozenset[str] | None:
    """The keys that a node and its conditional edges read; None where that is not certain.

    Args:
        sent: it runs by a `Send`. Functions and graphs then read nothing of the state; a ToolNode
            may.
    """
    if node.cache is not None or node.guarded:  # its super-step looks what became of it
        return None
    needs: set[str] = set()
    apart = sent and (is_routine(node.code) or hasattr(node.code, "builder"))
    for reads in (*(() if apart else (node.reads,)), *node.branch_reads):
        if not isinstance(reads, View):
            return None
        needs.update(reads.keys)
    steady = (LastValue, BinaryOperatorAggregate)
    if ROOT in builder.channels or any(type(builder.channels[k]) not in steady for k in needs):
        return None
    return frozenset(needs)


def _leads_to(builder: StateGraph[object], name: str) -> Iterator[str]:
    """The nodes that may run because a node has run."""
    branches = builder.branches.get(name, {}).values()
    spec = builder.nodes.get(name)
    free = any(branch.ends is None or may_route(branch.binding.function) for branch in branches)
    if free or (spec is not None and spec.may_route):
        yield from builder.nodes
        return
    for start, end in builder.edges:
        if start == name and not (end in builder.nodes and builder.nodes[end].defer):
            yield end  # deferred nodes run when nobody else does, and so before none of the others
    for branch in branches:
        yield from (branch.ends or {}).values()
    if spec is not None:
        yield from spec.ends
