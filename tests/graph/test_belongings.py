"""What the tasks of one run share is made once, and closed where the run ends, however it ends."""

from threading import Event, Thread
from typing import Any

import pytest
from typing_extensions import TypedDict

from plait.common.belongings import Belongings
from plait.drivers.sim import simulate
from plait.errors import ConfigError
from plait.graph import START, StateGraph
from plait.scope import current_scope


class Thing:
    def __init__(self, log: list[str], name: str = "thing", broken: bool = False) -> None:
        self.log, self.name, self.broken = log, name, broken
        log.append(f"{name} made")

    def close(self) -> None:
        self.log.append(f"{self.name} closed")
        if self.broken:
            raise RuntimeError(self.name)


def test_all_are_closed_whatever_one_of_them_raises():
    things, log = Belongings(), list[str]()
    for name in "abc":
        things.shared(name, lambda name=name: Thing(log, name, name == "b"))
    with pytest.raises(RuntimeError, match="b"):
        things.close()
    assert log[3:] == ["c closed", "b closed", "a closed"]
    things.close()
    assert len(log) == 6, "once"


def test_what_is_being_made_while_the_run_ends_is_closed_and_nobody_waits_for_it():
    things, log = Belongings(), list[str]()
    begun, go, told = Event(), Event(), list[BaseException]()

    def make() -> Thing:
        begun.set()
        go.wait(30)
        return Thing(log)

    def work() -> None:
        try:
            things.shared("thing", make)
        except ConfigError as error:
            told.append(error)

    thread = Thread(target=work)
    thread.start()
    begun.wait(30)
    things.close()
    go.set()
    thread.join()
    assert log == ["thing made", "thing closed"]
    assert "outlived its run" in str(told[0])


class State(TypedDict):
    text: str


@pytest.mark.parametrize("fails", [False, True])
def test_code_that_outlives_its_run_is_given_nothing(fails: bool):
    log, scopes = list[str](), list[Any]()

    def node(state: State) -> Any:
        scope = current_scope.get()
        assert scope is not None
        scopes.append(scope)
        if state["text"] == "owns":
            for _ in range(2):
                things = scope.belongings()
                assert things is not None
                things.shared("thing", lambda: Thing(log))
        if fails:
            raise RuntimeError("It fails.")

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile()
    for text in ("owns", "owns nothing"):
        try:
            graph.invoke({"text": text})
        except RuntimeError:
            assert fails
    assert log == ["thing made", "thing closed"]
    for scope in scopes:
        with pytest.raises(ConfigError, match="outlived its run"):
            scope.belongings().shared("thing", lambda: Thing(log))
    assert len(log) == 2


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_simulated_run_closes_what_it_owns(flavor: Any):
    log = list[str]()

    def node(state: State) -> None:
        scope = current_scope.get()
        things = None if scope is None else scope.belongings()
        assert things is not None
        things.shared("thing", lambda: Thing(log))

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile()
    simulate(graph, {"text": ""}, {}, seed=1, flavor=flavor)
    assert log == ["thing made", "thing closed"]
