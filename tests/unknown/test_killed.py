"""SIGKILL before and after every storage request, and every effect, of work that must not be
repeated: whatever dies, each effect happens once, and its policy says what became of it.

Whoever is asked looks at the effects, which lie in a file outside of what is tested.
"""

from __future__ import annotations

import asyncio
import operator
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from tests.postgres.server import Server

from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.func import task
from plait.graph import START, StateGraph
from plait.testing import FaultySaver, fork
from plait.types import Command, UnknownOutcome
from plait.typing import MISSING

CONFIG: Any = {"configurable": {"thread_id": "1"}}
ONCE = ("asked", "looked", "step asked", "step looked", "deep", "last")
"""The effects that must not be repeated; "free" may be."""
MOST = 200


class State(TypedDict, total=False):
    """What was done, in the order of the tasks."""

    log: Annotated[list[str], operator.add]


class Death(NamedTuple):
    """Where a process dies: at a storage request or at an effect, before or after it."""

    at: int = 0
    effect: str = ""
    after: bool = False


class Effects:
    """What was done outside, one line each; a process may die at one."""

    def __init__(self, file: Path, death: Death = Death()) -> None:  # noqa: B008
        self.file = file
        self.death = death

    def do(self, name: str) -> str:
        """Do it once more."""
        self._die(name, after=False)
        with self.file.open("a") as file:
            file.write(f"{name}\n")
        self._die(name, after=True)
        return name

    def _die(self, name: str, *, after: bool) -> None:
        if (name, after) == (self.death.effect, self.death.after):
            os.kill(os.getpid(), signal.SIGKILL)

    def done(self) -> Counter[str]:
        """How often each was done."""
        return Counter(self.file.read_text().splitlines() if self.file.exists() else ())


def build(saver: Any, effects: Effects, api: str) -> Any:
    """Guarded nodes beside each other, guarded steps in one, one in a graph inside, one more."""

    def node(name: str) -> Any:
        def work(state: State) -> Any:
            return {"log": [effects.do(name)]}

        async def awork(state: State) -> Any:
            await asyncio.sleep(0)
            return work(state)

        return awork if api == "async" else work

    def look(outcome: UnknownOutcome) -> Any:
        assert outcome.attempt
        return {"log": ["looked"]} if effects.done()["looked"] else MISSING

    inner = StateGraph(State).add_node("deep", node("deep"), on_unknown="ask")
    inner.add_edge(START, "deep")
    builder: Any = StateGraph(State)
    builder.add_node("asked", node("asked"), on_unknown="ask")
    builder.add_node("looked", node("looked"), on_unknown=look)
    builder.add_node("free", node("free"), on_unknown="retry")
    builder.add_node("steps", steps(effects, api))
    builder.add_node("inside", inner.compile())
    builder.add_node("last", node("last"), on_unknown="ask")
    beside = ["asked", "looked", "free", "steps", "inside"]
    for name in beside:
        builder.add_edge(START, name)
    builder.add_edge(beside, "last")
    return builder.compile(checkpointer=saver)


def steps(effects: Effects, api: str) -> Any:
    """A node with two guarded steps, beside each other."""

    def look(outcome: UnknownOutcome) -> Any:
        return "step looked" if effects.done()["step looked"] else MISSING

    if api == "async":

        async def ado(name: str) -> str:
            return effects.do(name)

        aasked = task(ado, name="step asked", on_unknown="ask")
        alooked = task(ado, name="step looked", on_unknown=look)

        async def anode(state: State) -> Any:
            return {"log": await asyncio.gather(aasked("step asked"), alooked("step looked"))}

        return anode

    asked = task(effects.do, name="step asked", on_unknown="ask")
    looked = task(effects.do, name="step looked", on_unknown=look)

    def node(state: State) -> Any:
        both = asked("step asked"), looked("step looked")
        return {"log": [each.result() for each in both]}

    return node


def answer(question: Any, effects: Effects) -> Any:
    """What a person says who looks at what was done."""
    name = question.value["unknown_outcome"].rpartition(".")[2]
    assert name in ONCE
    if not effects.done()[name]:
        return "run_again"
    return {"done": name if name.startswith("step") else {"log": [name]}}


def go_on(graph: Any, effects: Effects, api: str, durability: str) -> None:
    """A thread from wherever it is to its end, answering what is asked."""

    def run(given: Any) -> Any:
        if api == "async":
            return asyncio.run(graph.ainvoke(given, CONFIG, durability=durability))
        return graph.invoke(given, CONFIG, durability=durability)

    state = graph.get_state(CONFIG)
    given: Any = None if state.next else {"log": []}
    if not state.next and state.values.get("log"):
        return
    for _ in range(10):
        asked = run(given).get("__interrupt__")
        if not asked:
            return
        given = Command(resume={each.id: answer(each, effects) for each in asked})
    raise AssertionError("asked again and again")


class Trials:
    """Deaths in a new and empty database each."""

    def __init__(
        self, api: str, durability: str, places: Iterator[Callable[[], Any]], folder: Path
    ):
        self.api, self.durability = api, durability
        self.places = places
        self.folder = folder
        self.played = 0

    def play(self, *deaths: Death) -> int:
        """Processes that die, then one that lives. Returns how many did die."""
        self.played += 1
        file = self.folder / f"effects-{self.played}"
        opened = next(self.places)

        def work(death: Death) -> None:
            fault: Any = "commit then kill" if death.after else "kill"
            with FaultySaver(opened(), at=death.at, fault=fault) as saver:
                effects = Effects(file, death)
                go_on(build(saver, effects, self.api), effects, self.api, self.durability)

        died = 0
        for death in (*deaths, Death()):
            died += fork(lambda _, death=death: work(death)).wait() != 0
        self.check(deaths, file, opened)
        return died

    def check(self, deaths: tuple[Death, ...], file: Path, opened: Callable[[], Any]) -> None:
        """Each effect once, and each in the state once."""
        what = f"{self.api} {self.durability} {deaths}"
        done = Effects(file).done()
        assert {name: done[name] for name in ONCE} == dict.fromkeys(ONCE, 1), what
        with opened() as saver:
            state = build(saver, Effects(file), self.api).get_state(CONFIG)
        assert state.next == (), what
        assert Counter(state.values["log"]) == Counter([*ONCE, "free"]), what

    def play_all(self, stride: int = 1) -> None:
        """Die at each storage request, then at each effect."""
        for after in (False, True):
            for at in count(1, stride):
                assert at < MOST
                if not self.play(Death(at, after=after)):
                    break
            for name in (*ONCE, "free"):
                assert self.play(Death(effect=name, after=after)) == 1


@pytest.mark.parametrize("api", ["sync", "async"])
@pytest.mark.parametrize("durability", ["sync", "async"])
def test_killed_anywhere_in_a_file_each_is_done_once(
    tmp_path: Path, api: str, durability: str
) -> None:
    places = (lambda n=n: SqliteSaver(tmp_path / f"{n}.db") for n in count())
    trials = Trials(api, durability, places, tmp_path)
    trials.play_all(stride=3 if durability == "sync" else 9)
    chance = Random(1)
    for _ in range(3):
        trials.play(*[Death(chance.randint(3, 30), after=chance.random() < 0.5) for _ in range(4)])
    print(f"{trials.played} trials")


@pytest.mark.parametrize("api", ["sync", "async"])
def test_killed_anywhere_on_a_server_each_is_done_once(
    tmp_path: Path, postgres_server: Server, api: str
) -> None:
    def places() -> Iterator[Callable[[], Any]]:
        while True:
            with postgres_server.database() as url:
                yield lambda url=url: PostgresSaver(url)

    trials = Trials(api, "sync", places(), tmp_path)
    trials.play_all(stride=8)
    print(f"{trials.played} trials")
