"""Commands that write to a waiting thread, call after call: each applies after the one before."""

from collections.abc import Sequence
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait.channels import BinaryOperatorAggregate, EphemeralValue
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import InvalidUpdateError
from plait.graph import START, StateGraph
from plait.types import Command, Overwrite, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


class Sum(BinaryOperatorAggregate):
    """A channel of a program's own, which takes one number per super-step."""

    single = True

    def __init__(self, typ: Any) -> None:
        super().__init__(typ, add)

    def update(self, values: Sequence[Any]) -> bool:
        if len(values) > 1:
            raise InvalidUpdateError("one at a time")
        return super().update(values)


class State(TypedDict, total=False):
    log: Annotated[list[str], add]
    n: int
    brief: Annotated[int, EphemeralValue]
    own: Annotated[int, Sum]


def graph_on(saver: SqliteSaver) -> Any:
    graph = StateGraph(State)
    graph.add_node("ask", lambda state: {"log": [interrupt("well?"), str(state.get("n"))]})
    return graph.add_edge(START, "ask").compile(checkpointer=saver)


@pytest.mark.parametrize(
    ("updates", "log", "n"),
    [
        ([{"n": 1}, {"n": 2}, {"n": 3}], ["first"], 3),
        ([{"n": 1}, {"log": ["a"]}, {"n": Overwrite(2), "log": ["b"]}], ["first", "a", "b"], 2),
        ([{"log": ["a"]}, {"log": Overwrite(["b"])}, {"log": ["c"]}], ["b", "c"], None),
        ([{"log": Overwrite(["a"])}, {"log": Overwrite(["b"]), "n": 1}, {"n": 2}], ["b"], 2),
        ([{"brief": 1}, {"brief": 2, "n": 1}], ["first"], 1),
        ([{"own": 1}, {"own": 2, "n": 1}], ["first"], 1),
    ],
    ids=[
        *("values", "beside a reducer", "an overwrite", "overwrites", "values of one step"),
        "values of a channel of one's own",
    ],
)
def test_updates_of_several_calls_are_applied_in_their_order(
    updates: list[dict[str, Any]], log: list[str], n: int | None, tmp_path: Path
) -> None:
    path = str(tmp_path / "t.db")
    with SqliteSaver.from_conn_string(path) as saver:
        graph_on(saver).invoke({"log": ["first"]}, THREAD)
    for update in updates:
        with SqliteSaver.from_conn_string(path) as saver:
            told = graph_on(saver).invoke(Command(update=update), THREAD)
    assert (told["log"], told.get("n")) == (log, n)
    with SqliteSaver.from_conn_string(path) as saver:
        graph = graph_on(saver)
        stored = graph.get_state(THREAD)
        assert (stored.values["log"], stored.values.get("n")) == (log, n)
        assert graph.invoke(Command(resume="yes"), THREAD)["log"] == [*log, "yes", str(n)]


@pytest.mark.parametrize(
    "update",
    [[("n", 2), ("n", 3)], [("log", Overwrite(["a"])), ("log", Overwrite(["b"]))]],
    ids=["values", "overwrites"],
)
def test_two_values_of_one_call_are_refused_and_nothing_is_stored(update: Any) -> None:
    with SqliteSaver.from_conn_string(":memory:") as saver:
        graph = graph_on(saver)
        graph.invoke({"log": ["first"]}, THREAD)
        graph.invoke(Command(update={"n": 1}), THREAD)
        with pytest.raises(InvalidUpdateError):
            graph.invoke(Command(update=update), THREAD)
        told = graph.invoke(Command(resume="yes"), THREAD)
        assert told == {"log": ["first", "yes", "1"], "n": 1, "own": 0}
