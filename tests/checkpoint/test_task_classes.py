"""What the annotations of tasks name may be stored, wherever a node's or a workflow's code finds
its tasks."""

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.engine.called import tasks_called
from plait.func import TaskFunction, entrypoint, task
from plait.graph import START, StateGraph
from plait.runnables import RunnableLambda, RunnableParallel


@dataclass
class Fare:
    cents: int


class Trip(TypedDict):
    cents: int


def quoting(kind: Any) -> TaskFunction[[int], Any]:
    """A new task, which no other test knows, that gives a `kind`."""

    def quote(cents: int) -> Any:
        return kind(cents)

    quote.__annotations__["return"] = kind
    return task(quote)


class Desk:
    of_class = quoting(Fare)
    as_static = staticmethod(quoting(Fare))

    def __init__(self) -> None:
        self.own = quoting(Fare)
        self.clerk = types.SimpleNamespace(quote=quoting(Fare))

    def asks_its_class(self, trip: Trip) -> Trip:
        return {"cents": self.of_class(7).result().cents}

    def asks_a_static(self, trip: Trip) -> Trip:
        return {"cents": self.as_static(7).result().cents}

    def asks_itself(self, trip: Trip) -> Trip:
        return {"cents": self.own(7).result().cents}

    def asks_its_clerk(self, trip: Trip) -> Trip:
        return {"cents": self.clerk.quote(7).result().cents}

    def asks_by_a_method(self, trip: Trip) -> Trip:
        return {"cents": self._asked()}

    def _asked(self) -> int:
        return self.own(7).result().cents

    @property
    def unused(self) -> int:
        raise AssertionError("looking for tasks runs nothing")

    def names_a_property(self, trip: Trip) -> Trip:
        return {"cents": self.unused if trip is None else self.own(7).result().cents}


fares = types.ModuleType("fares")
fares.fly = quoting(Fare)  # type: ignore[attr-defined]
travel = types.ModuleType("travel")
travel.fares = fares  # type: ignore[attr-defined]
FARES = {"fly": quoting(Fare)}
quote_alone = quoting(Fare)


def asks_a_module(trip: Trip) -> Trip:
    return {"cents": fares.fly(7).result().cents}


def asks_a_package(trip: Trip) -> Trip:
    return {"cents": travel.fares.fly(7).result().cents}


def asks_a_register(trip: Trip) -> Trip:
    return {"cents": FARES["fly"](7).result().cents}


def asks_by_a_function(trip: Trip) -> Trip:
    return {"cents": helps()}


quote_seven = partial(quote_alone, 7)


def asks_a_partial(trip: Trip) -> Trip:
    return {"cents": quote_seven().result().cents}


def helps_with(task: Any, cents: int) -> int:
    return task(cents).result().cents


seven_by_a_function = partial(helps_with, quote_alone, cents=7)


def asks_by_a_partial(trip: Trip) -> Trip:
    return {"cents": seven_by_a_function()}


def helps() -> int:
    return quote_alone(7).result().cents


desk = Desk()
NODES = [
    desk.asks_its_class,
    desk.asks_a_static,
    desk.asks_itself,
    desk.asks_its_clerk,
    desk.asks_by_a_method,
    desk.names_a_property,
    asks_a_module,
    asks_a_package,
    asks_a_register,
    asks_by_a_function,
    asks_a_partial,
    asks_by_a_partial,
]
THREAD: Any = {"configurable": {"thread_id": "1"}}


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_a_node_stores_what_its_tasks_give(node: Callable[[Trip], Trip]) -> None:
    builder = StateGraph(Trip).add_node("ask", node).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert graph.invoke({"cents": 0}, THREAD) == {"cents": 7}


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_a_workflow_stores_what_its_tasks_give(node: Callable[[Trip], Trip]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def workflow(cents: int) -> Any:
        return node({"cents": cents})

    assert workflow.invoke(0, THREAD) == {"cents": 7}


def test_functions_of_installed_packages_are_not_looked_through() -> None:
    def node(trip: Trip) -> None:
        pytest.main()
        quote_alone(1)

    assert list(tasks_called(node)) == [quote_alone.func]


def test_a_function_that_calls_itself_ends_the_search() -> None:
    def node(depth: int) -> None:
        node(depth - 1)
        quote_alone(1)

    assert list(tasks_called(node)) == [quote_alone.func]


def test_tasks_are_found_in_all_steps_of_a_chain() -> None:
    quote, other = quoting(Fare), quoting(Fare)
    chain = RunnableLambda(lambda trip: quote(trip["cents"]).result())
    chain |= RunnableParallel(cents=lambda fare: other(fare.cents).result().cents)
    builder = StateGraph(Trip).add_node("ask", chain.with_retry()).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert graph.invoke({"cents": 7}, THREAD) == {"cents": 7}


@pytest.mark.parametrize(
    "line",
    [
        "from voyages.ships import sail",
        "from voyages.ships import sail as go; sail = go",
        "import voyages.ships as ships; sail = ships.sail",
        "import voyages.ships; sail = voyages.ships.sail",
        "from .ships import sail",
        "from . import ships; sail = ships.sail",
        "from ..voyages.ships import sail",
    ],
)
def test_tasks_are_found_where_a_function_imports_them(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    voyages, ships = types.ModuleType("voyages"), types.ModuleType("voyages.ships")
    voyages.__path__, voyages.ships, ships.sail = [], ships, quoting(Fare)  # type: ignore[attr-defined]
    inside = "outer." if line.startswith("from .") else ""
    for name, module in (("voyages", voyages), ("voyages.ships", ships)):
        monkeypatch.setitem(sys.modules, inside + name, module)
    monkeypatch.setitem(sys.modules, "outer", types.ModuleType("outer"))
    space: dict[str, Any] = {"__name__": "outer.voyages.node", "__package__": "outer.voyages"}
    exec(f"def node(trip):\n    {line}\n    return {{'cents': sail(7).result().cents}}", space)
    builder = StateGraph(Trip).add_node("ask", space["node"]).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert graph.invoke({"cents": 0}, THREAD) == {"cents": 7}
