"""A history makes the long lists and dicts of a checkpoint when somebody looks at them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import add, ne, or_
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import END, START, StateGraph
from plait.types import StateSnapshot

THREAD: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 1000}
STEPS = 60


@dataclass
class Item:
    """Something that is counted each time it is made."""

    n: int
    parts: list[int] = field(default_factory=list[int])

    made = 0

    def __post_init__(self) -> None:
        Item.made += 1


class State(TypedDict, total=False):
    items: Annotated[list[Item], add]
    table: Annotated[dict[str, Item], or_]


@pytest.fixture(params=["memory", "sqlite"])
def graph(request: Any, tmp_path: Path) -> Iterator[Any]:
    """A graph whose thread has a list and a dict that grew by an item per step."""

    def tick(state: State) -> State:
        n = len(state["items"])
        return {"items": [Item(n, [n])], "table": {str(n): Item(n, [n])}}

    builder = StateGraph(State)
    builder.add_node("tick", tick)
    builder.add_edge(START, "tick")
    builder.add_conditional_edges("tick", lambda s: "tick" if len(s["items"]) < STEPS else END)
    if request.param == "memory":
        built = builder.compile(checkpointer=InMemorySaver())
        built.invoke({"items": [], "table": {}}, THREAD)
        yield built
        return
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        built = builder.compile(checkpointer=saver)
        built.invoke({"items": [], "table": {}}, THREAD)
        yield built


def test_a_history_that_is_listed_makes_each_item_a_few_times_at_most(graph: Any) -> None:
    before = Item.made
    shown = [(each.next, each.config, each.metadata) for each in graph.get_state_history(THREAD)]
    assert len(shown) == STEPS + 2
    assert Item.made - before <= 8 * STEPS  # all lists and dicts hold 60 times as many


def test_a_state_is_made_once_whenever_it_is_looked_at(graph: Any) -> None:
    listed = list(graph.get_state_history(THREAD))
    graph.checkpointer.delete_thread("1")
    for number, each in enumerate(reversed(listed[:-2])):
        expected = [Item(n, [n]) for n in range(number + 1)]
        assert each.values["items"] == expected
        assert each.values["table"] == {str(item.n): item for item in expected}
        assert each.values is each.values
        assert each.tasks is each.tasks
        items = each.values["items"]
        items[0].parts.append(7)
    assert [each.values["items"][-1].parts for each in listed[:-3]] == [
        [n] for n in range(STEPS - 1, 0, -1)
    ]


def test_what_a_task_wrote_is_made_when_it_is_looked_at(graph: Any) -> None:
    *steps, _ = graph.get_state_history(THREAD)
    for number, each in enumerate(reversed(steps[1:])):
        (task,) = each.tasks
        item = Item(number, [number])
        assert task.result == {"items": [item], "table": {str(number): item}}


def _plain(snapshot: Any) -> StateSnapshot:
    return StateSnapshot(*[getattr(snapshot, name) for name in StateSnapshot._fields])


LOOKS: dict[str, Callable[[Any], Any]] = {
    "unpacked": lambda s: [*s],
    "as a tuple": tuple,
    "by place": lambda s: (s[0], s[-2], s[1:3]),
    "length": len,
    "text": repr,
    "as a dict": lambda s: s._asdict(),
    "replaced": lambda s: s._replace(next=("other",)),
    "copied": copy.copy,
    "deeply": copy.deepcopy,
    "pickled": lambda s: pickle.loads(pickle.dumps(s)),
    "in front": lambda s: add(s, (1,)),
    "behind": lambda s: add((1,), s),
    "twice": lambda s: s * 2,
    "searched": lambda s: (s.index(s.next), s.count(()), s.next in s),
    "made of": lambda s: s._make(range(8)),
    "fields": lambda s: s._fields,
    "passed on": lambda s: [*(lambda *parts: parts)(*s)],
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_it_behaves_as_the_tuple_that_it_stands_for(graph: Any, look: Any) -> None:
    def listed() -> Any:
        return list(graph.get_state_history(THREAD))[5]

    shown = look(listed())
    assert shown == look(_plain(listed()))
    assert type(shown) is type(look(_plain(listed())))


def test_it_equals_others_as_a_tuple_does(graph: Any) -> None:
    one, other = (list(graph.get_state_history(THREAD))[5] for _ in range(2))
    assert isinstance(one, StateSnapshot)
    assert one == other
    assert one == _plain(other)
    assert _plain(one) == other
    assert tuple(one) == other
    assert not ne(one, other)
    assert one != list(graph.get_state_history(THREAD))[6]
    match one:
        case StateSnapshot(values=values, next=following):
            assert (len(values["items"]), following) == (STEPS - 5, ("tick",))
        case _:
            pytest.fail("a class pattern matches")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
