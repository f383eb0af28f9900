"""What a program lets go of is freed: no cache of plait's keeps a graph, its nodes or its saver."""

from __future__ import annotations

import gc
import operator
import weakref
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.func import entrypoint
from plait.graph import START, StateGraph

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    items: Annotated[list[int], operator.add]


def of_nodes() -> tuple[Any, Any]:
    def node(state: State) -> State:
        return {"items": [len(state["items"])]}

    inner = StateGraph(State).add_node("inner", node).add_edge(START, "inner").compile()
    builder = StateGraph(State).add_node("node", node).add_node("graph", inner)
    builder.add_edge(START, "node").add_edge("node", "graph")
    return builder.compile(checkpointer=InMemorySaver()), node


def of_a_workflow() -> tuple[Any, Any]:
    def workflow(given: State) -> State:
        return given

    return entrypoint(checkpointer=InMemorySaver())(workflow), workflow


@pytest.mark.parametrize("made", [of_nodes, of_a_workflow])
def test_a_graph_that_nobody_holds_any_more_is_freed_with_its_nodes(made: Any) -> None:
    graph, code = made()
    graph.invoke({"items": [1]}, CONFIG)
    graph.get_state(CONFIG, subgraphs=True)
    assert len(list(graph.get_state_history(CONFIG))) > 0
    graph.get_graph(xray=True).draw_mermaid()
    left = [weakref.ref(graph), weakref.ref(code), weakref.ref(graph.checkpointer)]
    del graph, code
    gc.collect()
    assert [one() for one in left] == [None, None, None]
