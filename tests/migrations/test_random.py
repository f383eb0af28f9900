"""Random graphs, stopped at random places and renamed at random, end where undisturbed ones do."""

import operator
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sim.graphs import NAMES, Spec, act, answer_to, lead, question, spec_of_seed
from tests.sim.strategies import plays

from plait import (
    END,
    START,
    Command,
    InMemorySaver,
    RenamedFrom,
    Send,
    SqliteSaver,
    StateGraph,
    interrupt,
)
from plait.errors import InvalidUpdateError

from .conftest import Caller

KEYS: dict[str, Any] = {
    "log": (list[str], operator.add), "total": (int, operator.add), "x": (int,), "y": (int,),
}  # fmt: skip
GRAPHS = 160
INPUT: dict[str, Any] = {"log": ["in"], "total": 1, "x": 3}


class Names:
    """What nodes and keys are called at some time: `a`, later `a1`, `a2`. The order stays."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}

    def rename(self, random: Random) -> None:
        for name in (*NAMES, *KEYS):
            if random.random() < 0.4:
                self.times[name] = self.times.get(name, 0) + 1

    def now(self, name: str) -> str:
        times = self.times.get(name, 0)
        return f"{name}{times}" if times else name

    def former(self, name: str) -> list[str]:
        return [f"{name}{time}" if time else name for time in range(self.times.get(name, 0))]

    def to_now(self, values: dict[str, Any]) -> dict[str, Any]:
        return {self.now(key): value for key, value in values.items()}

    def to_first(self, values: dict[str, Any]) -> dict[str, Any]:
        first = {self.now(key): key for key in KEYS}
        return {first.get(key, key): value for key, value in values.items()}


def schema(names: Names) -> Any:
    hints: dict[str, Any] = {}
    for key, (typ, *reducer) in KEYS.items():
        former = names.former(key)
        marks = (*reducer, RenamedFrom(*former)) if former else tuple(reducer)
        hints[names.now(key)] = Annotated[typ, *marks] if marks else typ
    return TypedDict("State", hints, total=False)  # type: ignore[operator]


def build(spec: Spec, names: Names, saver: Any, finished: list[str]) -> Any:
    """The graph under the names of today; `finished` counts tasks that came to their end."""
    builder: Any = StateGraph(schema(names))
    now = names.now
    for node in spec.nodes:

        def code(state: Any, node: Any = node) -> Any:
            held = names.to_first(state)
            answers = [interrupt(question(node, held, nth)) for nth in range(node.asks)]
            update = act(node, held, answers)
            finished.append(update["log"][0])
            return names.to_now(update)

        def path(state: Any, node: Any = node) -> list[Any]:
            goals, sends = lead(node, names.to_first(state))
            return [*map(now, goals), *(Send(now(goal), given) for goal, given in sends)]

        builder.add_node(
            now(node.name), code, defer=node.defer, renamed_from=names.former(node.name)
        )
        if node.routes or node.sends:
            ends = [*(now(each.name) for each in spec.nodes), END]
            builder.add_conditional_edges(now(node.name), path, ends)
    for name in spec.entry:
        builder.add_edge(START, now(name))
    for node in spec.nodes:
        for goal in node.edges:
            builder.add_edge(now(node.name), now(goal))
    for sources, target in spec.joins:
        builder.add_edge([now(source) for source in sources], now(target))
    return builder.compile(checkpointer=saver)


def play(
    spec: Spec, saver: Any, random: Random | None, way: str, finished: list[str]
) -> tuple[dict[str, Any], int]:
    """Run a graph to its end; with `random`, through stops and renames.

    Returns:
        The final state under the first names, and how often it was renamed while it waited.
    """
    names, renamed = Names(), 0
    today: Any = dict(INPUT)
    while True:
        graph = build(spec, names, saver, finished)
        stops = "*" if random is not None and random.random() < 0.6 else ()
        caller = Caller(way)
        try:
            caller.invoke(graph, today, interrupt_before=stops)
        except InvalidUpdateError:  # two nodes wrote a key that takes one value: that ends it
            return {"error": "two values"}, renamed
        state = caller.state(graph)
        if not state.next:
            return names.to_first(state.values), renamed
        answers = {each.id: answer_to(each.value) for each in state.interrupts}
        if random is not None:
            asked = sorted(answers)
            answers = {each: answers[each] for each in random.sample(asked, len(asked) and 1)}
            if random.random() < 0.5:
                names.rename(random)
                renamed += 1
        today = Command(resume=answers) if answers else None


def disturbed_is_as_undisturbed(seed: int, saver: Any, way: str) -> int:
    spec = spec_of_seed(seed)
    plain: list[str] = []
    expected, _ = play(spec, InMemorySaver(), None, "sync", plain)
    finished: list[str] = []
    state, renamed = play(spec, saver, Random(seed), way, finished)
    assert state == expected
    if "error" in expected:
        return 0
    assert sorted(finished) == sorted(plain)  # no acknowledged task ran again
    return renamed


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_graph_renamed_while_it_waits_ends_as_an_undisturbed_one(way: str) -> None:
    counts: list[int] = []

    @plays(GRAPHS)
    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        counts.append(disturbed_is_as_undisturbed(seed, InMemorySaver(), way))

    check()
    assert sum(counts) > GRAPHS // 2  # renames of graphs that waited


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_file_renamed_under_its_threads_ends_as_an_undisturbed_one(
    way: str, tmp_path: Path
) -> None:
    for seed in range(12):
        with SqliteSaver(tmp_path / f"{seed}.db") as saver:
            disturbed_is_as_undisturbed(seed, saver, way)
