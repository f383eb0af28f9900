"""A node may return a whole list, dict or text at every step: stored is what changed of it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import END, START, StateGraph


class State(TypedDict, total=False):
    items: list[str]
    table: dict[str, str]
    merged: Annotated[dict[str, str], operator.or_]
    text: str
    n: int


def text(number: int) -> str:
    return f"{number:04}" * 25


def again(state: State) -> State:
    return {"items": [*state["items"], text(state["n"])]}


def in_place(state: State) -> State:
    state["items"].append(text(state["n"]))
    return state


def rebuilt(state: State) -> State:
    return {"table": {**state["table"], str(state["n"]): text(state["n"])}}


def merged(state: State) -> State:
    return {"merged": {str(state["n"]): text(state["n"])}}


def untouched(state: State) -> State:
    return {**state}


NODES = [again, in_place, rebuilt, merged, untouched]


def run(node: Callable[[State], State], steps: int, path: Path) -> int:
    """How many bytes a thread takes; it is read back, too."""
    shown: list[State] = []

    def work(state: State) -> State:
        update: State = {**node(state), "n": state["n"] + 1}
        return update

    def more(state: State) -> str:
        shown.append({**state, "items": [*state["items"]]})
        return "work" if state["n"] < steps else END

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", more, ["work", END])
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": steps + 5}
    given: State = {"items": [], "table": {}, "merged": {}, "text": "same " * 60, "n": 0}
    with SqliteSaver(path) as saver:
        graph = builder.compile(checkpointer=saver)
        graph.invoke(given, config)
        history = [*graph.get_state_history(config)]
        assert [each.values for each in history[:steps]] == shown[::-1]
        results = [each.tasks[0].result for each in history[1 : steps + 1]]
        assert [result["n"] for result in results] == [*range(steps, 0, -1)]
        assert all(
            result.get("items", s["items"]) == s["items"]
            for result, s in zip(results, shown[::-1], strict=True)
        )
    return path.stat().st_size


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_bytes_grow_with_what_changed_though_nodes_return_all(
    node: Callable[[State], State], tmp_path: Path
) -> None:
    small, large = run(node, 100, tmp_path / "small.db"), run(node, 400, tmp_path / "large.db")
    assert large < 5 * small


def test_a_large_text_that_comes_back_unchanged_is_stored_once(tmp_path: Path) -> None:
    base = run(untouched, 40, tmp_path / "a.db")

    def other(state: State) -> State:
        return {**state, "text": state["text"] + "!"}

    assert run(other, 40, tmp_path / "b.db") > base + 30 * 300
