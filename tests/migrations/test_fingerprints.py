"""Each checkpoint says in eight bytes which graph made it."""

from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from plait import START, RenamedFrom, StateGraph
from plait.checkpoint.memory import InMemorySaver
from plait.engine.records import snapshot_of

from .conftest import THREAD


class State(TypedDict, total=False):
    log: Annotated[list[str], add]
    text: str


class Reduced(TypedDict, total=False):
    log: Annotated[list[str], add]
    text: Annotated[str, add]


class Renamed(TypedDict, total=False):
    log: Annotated[list[str], add]
    text: Annotated[str, RenamedFrom("word")]


def builder(schema: Any = State, *names: str, **more: Any) -> StateGraph[Any]:
    graph = StateGraph(schema, **more)
    for name in names or ("a", "b"):
        graph.add_node(name, lambda state: None).add_edge(START, name)
    return graph


def print_of(graph: StateGraph[Any]) -> str:
    return graph.compile().plan.fingerprint


def test_the_same_shape_has_the_same_fingerprint_whatever_its_code() -> None:
    assert print_of(builder()) == print_of(builder(Renamed)) == print_of(builder(State, "b", "a"))
    assert len(print_of(builder())) == 16


@pytest.mark.parametrize(
    "other",
    [
        builder(State, "a", "c"),
        builder().add_edge("a", "b"),
        builder().add_conditional_edges("a", lambda state: "b", ["b"]),
        builder(Reduced),
        builder(State, version=2, migrations={1: lambda values: values}),
        builder().add_node("inner", builder().compile()).add_edge(START, "inner"),
    ],
    ids=["nodes", "edges", "branches", "kinds of keys", "version", "subgraph"],
)
def test_another_shape_has_another_fingerprint(other: StateGraph[Any]) -> None:
    assert print_of(builder()) != print_of(other)


def test_the_shape_of_a_subgraph_is_part_of_its_graphs() -> None:
    def around(inner: StateGraph[Any]) -> StateGraph[Any]:
        return builder().add_node("inner", inner.compile()).add_edge(START, "inner")

    assert print_of(around(builder())) != print_of(around(builder(State, "a", "c")))


def test_it_is_with_every_checkpoint_and_not_among_the_users_metadata() -> None:
    saver = InMemorySaver()
    graph = builder().compile(checkpointer=saver)
    graph.invoke({"text": "x"}, THREAD)
    session = saver.open_session("order-7", registry=graph.registry())
    found = [snapshot_of(each) for page in session.history() for each in saver.run(page)]
    assert len(found) == 3
    for snapshot in found:
        assert snapshot.frontier["graph"] == graph.plan.fingerprint
        assert set(snapshot.metadata) == {"source", "step", "parents"}
