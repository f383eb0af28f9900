"""What is reduced for a path function to look at is not reduced again, and is nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from plait.graph import END, START, StateGraph
from plait.types import Send

Calls = list[tuple[list[Any], Any]]


def program(calls: Calls, node: Any, path: Callable[[Any], Any], nodes: int = 1) -> Any:
    """A graph of nodes side by side, each followed by a path function that sees the items."""

    def add(left: list[Any], right: Any) -> list[Any]:
        calls.append((list(left), right))
        return [*left, *(right if isinstance(right, (list, dict)) else [right])]

    State = TypedDict("State", {"items": Annotated[list[Any], add]})  # noqa: UP013
    builder = StateGraph(State).add_node("node", node)
    builder.add_conditional_edges(START, lambda state: [Send("node", state)] * nodes, ["node"])
    return builder.add_conditional_edges("node", path, [END]).compile()


@pytest.mark.parametrize("update", [["new"], "new"], ids=["list", "one item"])
def test_a_reducer_runs_once_for_the_look_and_the_write(update: Any) -> None:
    calls: Calls = []
    seen: list[Any] = []
    graph = program(calls, lambda state: {"items": update}, lambda s: seen.append(s) or END)
    assert graph.invoke({"items": ["old"]}) == {"items": ["old", "new"]} == seen[0]
    assert calls == [([], ["old"]), (["old"], update)]


def test_what_a_path_function_does_to_its_list_stays_there() -> None:
    graph = program([], lambda s: {"items": ["new"]}, lambda s: s["items"].clear() or END)
    assert graph.invoke({"items": ["old"]}) == {"items": ["old", "new"]}


def test_what_a_path_function_does_to_the_update_is_written() -> None:
    update = ["new"]
    graph = program([], lambda s: {"items": update}, lambda s: update.append("more") or END)
    assert graph.invoke({"items": ["old"]}) == {"items": ["old", "new", "more"]}


def test_an_update_that_may_change_unseen_is_reduced_again() -> None:
    update = {"a": 1}
    graph = program([], lambda s: {"items": update}, lambda s: update.update(b=2) or END)
    assert graph.invoke({"items": []}) == {"items": ["a", "b"]}


def test_of_several_tasks_each_sees_its_own_and_all_are_written() -> None:
    seen: list[Any] = []
    graph = program([], lambda s: {"items": ["new"]}, lambda s: seen.append(s["items"]) or END, 3)
    assert graph.invoke({"items": ["old"]}) == {"items": ["old", "new", "new", "new"]}
    assert seen == [["old", "new"]] * 3
