"""A node may return a whole list, dict or text at every step: stored is what changed of it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import END, START, MessagesState, StateGraph
from plait.messages import AIMessage


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


def built(node: Callable[[State], State], steps: int, saver: Any, shown: list[State]) -> Any:
    """A loop of so many steps; `shown` are the states before them."""

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
    return builder.compile(checkpointer=saver)


def at(thread: str, steps: int = 0) -> Any:
    return {"configurable": {"thread_id": thread}, "recursion_limit": steps + 5}


GIVEN: State = {"items": [], "table": {}, "merged": {}, "text": "same " * 60, "n": 0}


def told(history: list[Any]) -> list[Any]:
    """What snapshots show: values, and what tasks did."""
    return [(each.values, [task.result for task in each.tasks]) for each in history]


def run(node: Callable[[State], State], steps: int, path: Path) -> int:
    """How many bytes a thread takes; it is read back, too."""
    shown: list[State] = []
    with SqliteSaver(path) as saver:
        graph = built(node, steps, saver, shown)
        graph.invoke(deepcopy(GIVEN), at("t", steps))
        history = [*graph.get_state_history(at("t"))]
    shown.reverse()
    assert [each.values for each in history[:steps]] == shown
    results = [each.tasks[0].result for each in history[1 : steps + 1]]
    for after, result in zip(shown, results, strict=True):
        assert result["n"] == after["n"]
        for key in ("items", "table", "text"):
            assert result.get(key, after[key]) == after[key]
    return path.stat().st_size


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_what_writes_refer_to_outlives_pruning_and_moves_with_a_copy(
    node: Callable[[State], State], kind: str, tmp_path: Path
) -> None:
    saver: Any = InMemorySaver() if kind == "memory" else SqliteSaver(tmp_path / "log.db")
    graph = built(node, 40, saver, [])
    graph.invoke(deepcopy(GIVEN), at("t", 40))
    whole = told([*graph.get_state_history(at("t"))])
    saver.copy_thread("t", "copy")
    assert told([*graph.get_state_history(at("copy"))]) == whole
    saver.prune(["t"], keep_last=7)
    assert told([*graph.get_state_history(at("t"))]) == whole[:7]
    fork = [*graph.get_state_history(at("t"))][5].config
    graph.invoke(None, {**fork, "recursion_limit": 50})
    assert told([*graph.get_state_history(at("t"))])[0] == whole[0]
    if kind == "sqlite":
        saver.close()


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


def test_a_nested_graph_that_returns_all_messages_is_not_stored_again_by_its_parent() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda _: {"messages": [AIMessage("x" * 200)]})
    builder.add_edge(START, "say")
    inner = builder.compile()
    outer = StateGraph(MessagesState)
    outer.add_node("turn", inner)
    outer.add_edge(START, "turn")
    saver = InMemorySaver()
    graph = outer.compile(checkpointer=saver)
    for _ in range(20):
        graph.invoke({"messages": []}, at("t"))
    assert saver.usage("t").writes < 20 * 2 * 300  # whole, they would be 21 * 20 / 2 messages
