"""Savers derived from plait's that override LangGraph's methods: runs go through them, and what is
stored is what any run stores."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.base import BaseCheckpointSaver
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.constants import FRONTIER
from plait.errors import WeakDurabilityWarning
from plait.func import task
from plait.graph import END, START, StateGraph
from plait.graph.message import add_messages
from plait.types import Command, Send, interrupt

pytestmark = pytest.mark.filterwarnings("ignore::plait.errors.WeakDurabilityWarning")
ONE: Any = {"configurable": {"thread_id": "1"}}


@dataclass
class Order:
    """A type that only the graph's schema names."""

    item: str
    count: int


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    done: Annotated[list[str], operator.add]
    order: Order
    answer: str


RAN: list[str] = []


@task
def paid(item: str) -> str:
    RAN.append(f"paid {item}")
    return f"receipt of {item}"


def _spread(state: State) -> list[Send]:
    return [Send("work", name) for name in "ab"]


def _work(name: str) -> Any:
    RAN.append(f"work {name}")
    return {"done": [name]}


def _buy(state: State) -> Any:
    return {"order": Order("tea", len(state["done"])), "messages": [("ai", "ordered")]}


def _ask(state: State) -> Any:
    receipt = paid(state["order"].item).result()
    return {"answer": f"{receipt}: {interrupt('go on?')}"}


def asker(saver: Any) -> Any:
    def ask(state: State) -> Any:
        return {"answer": interrupt("go on?")}

    builder = StateGraph(State).add_node("ask", ask).add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


def shop(saver: Any) -> Any:
    builder = StateGraph(State).add_node("work", _work).add_node("buy", _buy)
    inner = StateGraph(State).add_node("ask", _ask).add_edge(START, "ask").compile()
    builder.add_node("inside", inner)
    builder.add_conditional_edges(START, _spread, ["work"]).add_edge("work", "buy")
    builder.add_edge("buy", "inside").add_edge("inside", END)
    return builder.compile(checkpointer=saver)


def _told(graph: Any, state: Any) -> Any:
    """What a program sees of a thread, without ids and times."""
    return [
        (
            {k: v for k, v in s.values.items() if k != "messages"},
            [m.content for m in s.values.get("messages", ())],
            s.next,
            s.metadata["step"],
            [(t.name, t.result is not None, len(t.interrupts)) for t in s.tasks],
        )
        for s in [state, *graph.get_state_history(ONE)]
    ]


class Counting:
    """Counts the calls of the port, and looks at what is handed over."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[Any] = []

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.seen.append(("put", dict(checkpoint["channel_values"])))
        return super().put(config, checkpoint, metadata, new_versions)  # type: ignore[misc]

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.seen.append(("put_writes", list(writes)))
        super().put_writes(config, writes, task_id, task_path)  # type: ignore[misc]

    def get_tuple(self, config: Any) -> Any:
        self.seen.append(("get_tuple", None))
        return super().get_tuple(config)  # type: ignore[misc]


class InMemory(Counting, InMemorySaver):
    pass


class InSqlite(Counting, SqliteSaver):
    pass


@pytest.fixture(params=["memory", "sqlite"])
def make(request: Any, tmp_path: Path) -> Callable[[bool], Any]:
    """A saver that is derived, or plait's own; of SQLite, on one file."""
    RAN.clear()
    if request.param == "memory":
        return lambda derived: InMemory() if derived else InMemorySaver()
    return lambda derived: (InSqlite if derived else SqliteSaver)(tmp_path / "threads.db")


async def _run(saver: Any, run_as_async: bool) -> Any:
    graph = shop(saver)
    start = {"messages": [("user", "hello")]}
    if run_as_async:
        asked = await graph.ainvoke(start, ONE)
        waiting = await graph.aget_state(ONE)
        end = await graph.ainvoke(Command(resume="yes"), ONE)
    else:
        asked = graph.invoke(start, ONE)
        waiting = graph.get_state(ONE)
        end = graph.invoke(Command(resume="yes"), ONE)
    return [q.value for q in asked["__interrupt__"]], end["answer"], _told(graph, waiting)


@pytest.mark.parametrize("run_as_async", [False, True])
async def test_a_run_through_a_derived_saver_is_the_run_through_plaits_own(
    make: Callable[[bool], Any], run_as_async: bool, tmp_path: Path
) -> None:
    derived = make(True)
    through = await _run(derived, run_as_async)
    ran = RAN.copy()
    RAN.clear()
    assert through == await _run(InMemorySaver(), run_as_async)
    assert sorted(ran) == sorted(RAN) == ["paid tea", "work a", "work b"]
    assert {name for name, _ in derived.seen} == {"put", "put_writes", "get_tuple"}
    put = [values for name, values in derived.seen if name == "put"]
    assert put[-1]["order"] == Order("tea", 2), "it is not handed the values themselves"
    assert [m.content for m in put[-1]["messages"]] == ["hello", "ordered"]
    written = dict(pair for name, pairs in derived.seen if name == "put_writes" for pair in pairs)
    assert written["order"] == Order("tea", 2)


def test_a_thread_goes_on_when_the_class_is_taken_away_and_when_it_comes(tmp_path: Path) -> None:
    RAN.clear()
    for first, second in ((InSqlite, SqliteSaver), (SqliteSaver, InSqlite)):
        path = tmp_path / f"{first.__name__}.db"
        with first(path) as saver:
            assert shop(saver).invoke({"messages": [("user", "hello")]}, ONE)["__interrupt__"]
        with second(path) as saver:
            graph = shop(saver)
            waiting = graph.get_state(ONE, subgraphs=True)
            assert waiting.next == ("inside",)
            assert [q.value for q in waiting.interrupts] == ["go on?"]
            assert graph.invoke(Command(resume="yes"), ONE)["answer"] == "receipt of tea: yes"
            assert len([*graph.get_state_history(ONE)]) == 5
        assert sorted(RAN) == ["paid tea", "work a", "work b"], "something ran again"
        RAN.clear()


def test_what_a_class_stores_in_place_of_a_value_is_what_the_next_turn_finds() -> None:
    class Trims(InMemorySaver):
        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            kept = checkpoint["channel_values"].get("messages", [])[-2:]
            values = {**checkpoint["channel_values"], "messages": kept}
            new = {**checkpoint, "channel_values": values}
            return super().put(config, new, metadata, new_versions)

    def say(state: State) -> Any:
        return {"messages": [("ai", f"heard {len(state['messages'])}")]}

    builder = StateGraph(State).add_node("say", say).add_edge(START, "say")
    graph = builder.compile(checkpointer=Trims())
    for turn in range(4):
        graph.invoke({"messages": [("user", f"turn {turn}")]}, ONE)
    texts = [m.content for m in graph.get_state(ONE).values["messages"]]
    assert texts == ["turn 3", "heard 3"]


async def test_errors_of_an_overridden_method_reach_the_caller() -> None:
    class Full(InMemorySaver):
        def put(self, *args: Any) -> Any:
            raise OSError("no room")

    graph = shop(Full())
    with pytest.raises(OSError, match="no room"):
        graph.invoke({}, ONE)
    with pytest.raises(OSError, match="no room"):
        await graph.ainvoke({}, ONE)


def test_a_history_goes_through_an_overridden_list() -> None:
    class Hides(InMemorySaver):
        def list(self, *args: Any, **kwargs: Any) -> Any:
            return (each for each in super().list(*args, **kwargs) if each.metadata["step"] > 0)

    graph = shop(Hides())
    graph.invoke({}, ONE)
    assert [s.metadata["step"] for s in graph.get_state_history(ONE)] == [2, 1]


def test_a_wrapper_that_passes_on_what_it_has_not_itself_is_not_passed_over() -> None:
    class Wraps(BaseCheckpointSaver[str]):
        def __init__(self, held: Any) -> None:
            super().__init__(serde=held.serde)
            self.held, self.puts = held, 0

        def put(self, *args: Any) -> Any:
            self.puts += 1
            return self.held.put(*args)

        def put_writes(self, *args: Any) -> Any:
            return self.held.put_writes(*args)

        def get_tuple(self, config: Any) -> Any:
            return self.held.get_tuple(config)

        def list(self, *args: Any, **kwargs: Any) -> Any:
            return self.held.list(*args, **kwargs)

        def get_next_version(self, current: Any, channel: None) -> Any:
            return self.held.get_next_version(current, channel)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.held, name)

    saver = Wraps(InMemorySaver())
    graph = asker(saver)
    assert graph.invoke({"messages": [("user", "hello")]}, ONE)["__interrupt__"]
    assert saver.puts == 2
    assert graph.invoke(Command(resume="yes"), ONE)["answer"] == "yes"


def test_its_promises_are_said_to_be_weaker_once() -> None:
    saver = InMemory()
    with pytest.warns(WeakDurabilityWarning) as told:
        shop(saver).invoke({}, ONE)
    (said,) = [str(w.message) for w in told if w.category is WeakDurabilityWarning]
    assert said.startswith("InMemory overrides get_tuple, put, put_writes, so runs go through it.")


def test_a_program_that_reads_such_a_thread_sees_no_channel_of_plaits() -> None:
    saver = InMemory()
    graph = asker(saver)
    assert graph.invoke({"messages": [("user", "hello")]}, ONE)["__interrupt__"]
    for found in (saver.get_tuple(ONE), *saver.list(ONE)):
        assert FRONTIER not in found.checkpoint["channel_values"]
    assert graph.get_state(ONE).next == ("ask",), "and a run finds it all the same"
