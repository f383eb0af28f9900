"""Graphs made of whole graphs, or of nodes: one after the other, or beside each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from plait.constants import START
from plait.errors import InvalidGraphError
from plait.graph.state import StateGraph
from plait.types import Checkpointer, Send

if TYPE_CHECKING:
    from plait.graph.compile import CompiledStateGraph
    from plait.store.base import BaseStore

Branches = Callable[..., "list[Send]"] | Callable[..., Awaitable["list[Send]"]]
_SEQUENTIAL, _PARALLEL = "sequential graph", "parallel graph"


def create_sequential_graph(
    nodes: Sequence[Any],
    state_schema: type[Any],
    graph_name: str | None = None,
    context_schema: type[Any] | None = None,
    input_schema: type[Any] | None = None,
    output_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    cache: Any = None,
) -> CompiledStateGraph:
    """Nodes, one after the other, as a graph.

    Args:
        nodes: functions or runnables with names, or (name, function) pairs.
        state_schema: the state.
        graph_name: the name of the graph.
        context_schema: the type of the run context.
        input_schema: what the graph takes, if not the whole state.
        output_schema: what it returns, if not the whole state.
        checkpointer: the saver that keeps its threads.
        store: long-term memory.
        cache: where results of nodes with a cache policy are kept.

    Raises:
        InvalidGraphError: there is no node, or two have the same name.

    >>> steps = [("add", lambda n: n + 1), ("double", lambda n: n * 2)]
    >>> graph = create_sequential_graph(steps, int)
    >>> graph.invoke(1)
    4
    """
    builder = StateGraph(
        state_schema, context_schema, input_schema=input_schema, output_schema=output_schema
    )
    builder.add_sequence(nodes)
    builder.add_edge(START, next(iter(builder.nodes)))
    return builder.compile(checkpointer, store=store, cache=cache, name=graph_name or _SEQUENTIAL)


def create_parallel_graph(
    nodes: Sequence[Any],
    state_schema: type[Any],
    graph_name: str | None = None,
    branches_fn: Branches | None = None,
    context_schema: type[Any] | None = None,
    input_schema: type[Any] | None = None,
    output_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    cache: Any = None,
) -> CompiledStateGraph:
    """Nodes, beside each other, as a graph.

    Args:
        nodes: functions or runnables with names, or (name, function) pairs.
        state_schema: the state; keys that several nodes write need a reducer.
        branches_fn: of the state, which of them run and with what: a list of `Send` (default: all,
            with the state).

    The other arguments are those of `create_sequential_graph`.

    Raises:
        InvalidGraphError: there is no node, or two have the same name.
    """
    builder = StateGraph(
        state_schema, context_schema, input_schema=input_schema, output_schema=output_schema
    )
    for node in nodes:
        builder.add_node(*(node if isinstance(node, tuple) else (node,)))
    names = list(builder.nodes)
    if branches_fn is None:
        for name in names:
            builder.add_edge(START, name)
    else:
        builder.add_conditional_edges(START, branches_fn, names)
    return builder.compile(checkpointer, store=store, cache=cache, name=graph_name or _PARALLEL)


def create_sequential_pipeline(
    sub_graphs: Sequence[Any],
    state_schema: type[Any],
    graph_name: str | None = None,
    context_schema: type[Any] | None = None,
    input_schema: type[Any] | None = None,
    output_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    cache: Any = None,
) -> CompiledStateGraph:
    """Compiled graphs, one after the other, as one graph.

    Args:
        sub_graphs: compiled graphs with names (`compile(name=...)`), which become the nodes.

    The other arguments are those of `create_sequential_graph`.

    Raises:
        InvalidGraphError: there is no graph, one has no name or is not compiled, or two have the
            same name.
    """
    return create_sequential_graph(
        _named(sub_graphs),
        state_schema,
        graph_name,
        context_schema,
        input_schema,
        output_schema,
        checkpointer,
        store,
        cache,
    )


def create_parallel_pipeline(
    sub_graphs: Sequence[Any],
    state_schema: type[Any],
    graph_name: str | None = None,
    branches_fn: Branches | None = None,
    context_schema: type[Any] | None = None,
    input_schema: type[Any] | None = None,
    output_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    cache: Any = None,
) -> CompiledStateGraph:
    """Compiled graphs, beside each other, as one graph.

    Args:
        sub_graphs: compiled graphs with names (`compile(name=...)`), which become the nodes.

    The other arguments are those of `create_parallel_graph`.

    Raises:
        InvalidGraphError: there is no graph, one has no name or is not compiled, or two have the
            same name.
    """
    return create_parallel_graph(
        _named(sub_graphs),
        state_schema,
        graph_name,
        branches_fn,
        context_schema,
        input_schema,
        output_schema,
        checkpointer,
        store,
        cache,
    )


def _named(graphs: Sequence[Any]) -> list[tuple[str, Any]]:
    """Compiled graphs as nodes under their own names.

    Raises:
        InvalidGraphError: one has no name, is no compiled graph, or two have the same name.
    """
    nodes: dict[str, Any] = {}
    for graph in graphs:
        name = getattr(graph, "name", None)
        if not hasattr(graph, "invoke") or name in (None, "LangGraph"):
            raise InvalidGraphError(
                f"{graph!r:.200} must be a compiled graph with a name of its own: "
                "compile(name=...), or create_react_agent(..., name=...)."
            )
        if name in nodes:
            raise InvalidGraphError(
                f"Two graphs are called {name!r}. Give each another name: compile(name=...)."
            )
        nodes[str(name)] = graph
    return list(nodes.items())


__all__ = [
    "create_parallel_graph",
    "create_parallel_pipeline",
    "create_sequential_graph",
    "create_sequential_pipeline",
]
