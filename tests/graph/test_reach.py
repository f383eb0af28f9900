"""What `compile` says of nodes that nothing leads to, and of joins that can never fire: each thing
once, and nothing of what may yet be led to."""

import warnings
from typing import Any, TypedDict

from plait.errors import UnreachableNodeWarning
from plait.graph import START, StateGraph
from plait.types import Command


class State(TypedDict):
    text: str


def nothing(state: State) -> dict[str, Any]:
    return {}


def told(builder: StateGraph[Any]) -> list[str]:
    """The first sentence of each warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        builder.compile()
    assert all(each.category is UnreachableNodeWarning for each in caught)
    return [str(each.message).partition(":")[0] for each in caught]


def graph(*names: str) -> StateGraph[Any]:
    """A graph of these nodes, of which the first runs."""
    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, nothing)
    return builder.add_edge(START, names[0])


def test_a_join_that_may_fire_is_not_told_of_beside_a_node_that_nothing_leads_to() -> None:
    builder = graph("a", "b", "both", "forgotten").add_edge(START, "b")
    assert told(builder.add_edge(["a", "b"], "both")) == ["Node 'forgotten' is unreachable"]


def test_a_node_that_nothing_leads_to_is_told_of_beside_a_join_that_cannot_fire() -> None:
    builder = graph("a", "lost", "both", "alone").add_edge(["a", "lost"], "both")
    assert told(builder) == [
        "The join of ['a', 'lost'] into 'both' can never fire",
        "Node 'lost' is unreachable",
        "Node 'alone' is unreachable",
    ]


def test_nothing_is_told_where_the_error_handler_of_all_nodes_may_lead_anywhere() -> None:
    def elsewhere(state: State) -> Command[Any]:
        return Command(goto="repair")

    builder = graph("a", "repair").set_node_defaults(error_handler=elsewhere)
    assert told(builder) == []
    assert told(graph("a", "repair").set_node_defaults(error_handler=nothing)) != []


def test_nothing_is_told_where_a_function_without_destinations_says_what_runs_next() -> None:
    def route(state: State) -> str:
        return state["text"]

    builder = graph("a", "b").add_conditional_edges("a", route)
    assert told(builder) == []
    assert told(graph("a", "b").add_conditional_edges("a", route, ["a"])) != []
