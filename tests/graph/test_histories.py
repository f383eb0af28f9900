"""A history says of each checkpoint what that checkpoint alone would say, and lends nothing."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.graph import END, START, StateGraph
from plait.types import Send

THREAD: Any = {"configurable": {"thread_id": "1"}}


class Counted(TypedDict, total=False):
    """So few keys that they are shown one by one."""

    n: int
    name: str


class State(TypedDict, total=False):
    n: int
    name: str
    out: Annotated[list[int], add]


def counting(schema: Any = None) -> StateGraph[Any]:
    """A loop of three steps whose node writes its keys in another order than the schema's."""

    def tick(state: Any) -> Any:
        return {"name": f"n{state['n']}", "n": state["n"] + 1}

    def again(state: Any) -> str:
        return "tick" if state["n"] < 3 else END

    builder = StateGraph(schema or State)
    builder.add_node("tick", tick)
    builder.add_edge(START, "tick")
    builder.add_conditional_edges("tick", again)
    return builder


def gathering() -> StateGraph[Any]:
    """Tasks beside each other, then a list that grows."""

    def item(given: Any) -> Any:
        return {"out": [given["n"]]}

    def last(state: Any) -> Any:
        return {"out": [len(state["out"])]}

    def spread(_: Any) -> list[Send]:
        return [Send("item", {"n": i}) for i in range(3)]

    builder = StateGraph(State)
    builder.add_node("item", item)
    builder.add_node("last", last)
    builder.add_conditional_edges(START, spread)
    builder.add_edge("item", "last")
    return builder


def counting_alone() -> StateGraph[Any]:
    """The same with no other keys."""
    return counting(Counted)


def nesting() -> StateGraph[Any]:
    """A graph inside a node."""
    builder = StateGraph(State)
    builder.add_node("inner", counting().compile())
    builder.add_edge(START, "inner")
    return builder


GRAPHS = {make.__name__: make for make in (counting, counting_alone, gathering, nesting)}


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest) -> Any:
    made = GRAPHS[request.param]().compile(checkpointer=InMemorySaver())
    made.invoke({"n": 0}, THREAD)
    return made


def lanes(graph: Any) -> list[Any]:
    """What addresses the thread, and the graphs inside its tasks."""
    inside = [
        task.state
        for snapshot in graph.get_state_history(THREAD)
        for task in snapshot.tasks
        if task.state is not None
    ]
    assert bool(inside) == ("inner" in graph.nodes)
    return [THREAD, *inside]


def test_each_snapshot_is_the_one_that_its_own_config_addresses(graph: Any) -> None:
    for lane in lanes(graph):
        shown = [*graph.get_state_history(lane)]
        assert len(shown) > 1
        for snapshot in shown:
            (alone,) = graph.get_state_history(snapshot.config)
            assert alone == snapshot
            assert [*alone.values] == [key for key in State.__annotations__ if key in alone.values]
        for newer, older in pairwise(shown):
            assert newer.parent_config == older.config


def test_whoever_changes_a_snapshot_changes_no_other(graph: Any) -> None:
    for lane in lanes(graph):
        shown = [*graph.get_state_history(lane)]
        before = deepcopy(shown)
        assert len(shown) > 1
        for place, snapshot in enumerate(shown):
            snapshot.values.setdefault("out", []).append("mine")
            snapshot.values["n"] = "mine"
            snapshot.metadata["parents"]["mine"] = snapshot.metadata["mine"] = "mine"
            for config in (snapshot.config, snapshot.parent_config):
                if config is not None:
                    config["configurable"]["mine"] = "mine"
            for task in snapshot.tasks:
                if task.result is not None:
                    task.result.setdefault("out", []).append("mine")
            assert shown[place + 1 :] == before[place + 1 :]
        assert [*graph.get_state_history(lane)] == before
