"""What a program lets go of is freed: no cache of plait's keeps a graph, its nodes or its saver."""

from __future__ import annotations

import asyncio
import gc
import operator
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.func import entrypoint
from plait.graph import END, START, StateGraph

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


@dataclass
class Document:
    number: int


class Draft(TypedDict):
    document: Document


@contextmanager
def without_collections() -> Iterator[None]:
    """What is freed is freed because nothing refers to it."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def rewriting(saver: Any, alive: list[list[int]], *, beside: bool, waits: bool) -> Any:
    """A loop that makes a new document in each turn, and notes which ones there still are."""
    made: list[weakref.ref[Document]] = []

    def write(state: Draft) -> Draft:
        alive.append([n for n, one in enumerate(made, 1) if one() is not None])
        document = Document(state["document"].number + 1)
        made.append(weakref.ref(document))
        return {"document": document}

    async def awrite(state: Draft) -> Draft:
        await asyncio.sleep(0)
        return write(state)

    def goes_on(state: Draft) -> list[str]:
        return (["write", "look"] if beside else ["write"]) if len(made) < 6 else [END]

    builder = StateGraph(Draft).add_node("write", awrite if waits else write)
    builder.add_node("look", lambda state: None).add_edge(START, "write")
    builder.add_conditional_edges("write", goes_on, ["write", "look", END])
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kept", [None, "memory", "sqlite"])
def test_while_a_node_runs_nothing_of_earlier_super_steps_is_kept(
    kept: str | None, waits: bool, tmp_path: Any
) -> None:
    alive: list[list[int]] = []
    with SqliteSaver.from_conn_string(str(tmp_path / "t.db")) as in_file, without_collections():
        saver = in_file if kept == "sqlite" else InMemorySaver() if kept else None
        run(rewriting(saver, alive, beside=False, waits=waits), waits=waits)
    assert alive == [[]] + [[turn] for turn in range(1, 6)]


@pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])
def test_while_nodes_run_beside_each_other_the_first_super_step_is_not_kept(waits: bool) -> None:
    alive: list[list[int]] = []
    with without_collections():
        run(rewriting(None, alive, beside=True, waits=waits), waits=waits)
    assert 1 not in alive[-1]  # a thread may still hold what it has just done
    assert 5 in alive[-1]


def run(graph: Any, *, waits: bool) -> None:
    given: Any = {"document": Document(0)}
    if waits:
        asyncio.run(graph.ainvoke(given, CONFIG))
    else:
        graph.invoke(given, CONFIG)
