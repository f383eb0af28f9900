"""A graph as a node, in whatever wraps it, may keep keys of its own."""

import warnings
from typing import Any, TypedDict

import pytest

from plait.errors import UnknownKeyWarning
from plait.graph import START, StateGraph
from plait.runnables import RunnableLambda


class Inner(TypedDict):
    topic: str
    notes: str


class Outer(TypedDict):
    topic: str


INNER = StateGraph(Inner).add_node("n", lambda state: {"notes": "n"}).add_edge(START, "n").compile()


def run(node: Any) -> Any:
    graph = StateGraph(Outer).add_node("inner", node).add_edge(START, "inner").compile()
    return graph.invoke({"topic": "t"})


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(INNER, id="graph"),
        pytest.param(INNER.with_config(run_name="named"), id="config"),
        pytest.param(INNER.bind(), id="bound"),
        pytest.param(INNER.with_retry(), id="retried"),
        pytest.param(RunnableLambda(lambda state: state) | INNER, id="end of a chain"),
        pytest.param(INNER.with_fallbacks([INNER]), id="fallbacks"),
    ],
)
def test_keys_that_a_graph_keeps_for_itself_are_no_mistake(node: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(node) == {"topic": "t"}


def test_keys_that_a_step_after_a_graph_gives_are_told() -> None:
    with pytest.warns(UnknownKeyWarning, match="notes"):
        assert run(INNER | RunnableLambda(lambda state: state)) == {"topic": "t"}
