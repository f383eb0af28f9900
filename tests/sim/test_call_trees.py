"""Random trees of calls: in any order, through any crash, each call keeps its id and result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, SimEnv, SimResult, simulate
from plait.func import entrypoint, task
from plait.types import Command, interrupt

from .schedules import check_effects
from .strategies import TIMES, Tally

CONFIG: Any = {"configurable": {"thread_id": "1"}}
TREES = int(60 * (TIMES or 1))
CRASHES = int(240 * (TIMES or 1))
Tree: TypeAlias = tuple[str, str, list[Any]]
"""A call: its name, what it does, and the calls it makes."""


class Refused(Exception):
    """What a call that fails raises."""


def tree_of(chance: Random, depth: int = 3) -> Tree:
    """A random call: equal ones beside each other are likely."""
    kids = chance.randint(0, 3) if depth else 0
    does = chance.choice(["", "", "beside", "beside", "asks", "fails" if depth < 3 else ""])
    return chance.choice("ab"), does, [tree_of(chance, depth - 1) for _ in range(kids)]


def value_of(tree: Tree) -> str:
    """What a call returns."""
    name, does, kids = tree
    said = [("!" if kid[1] == "fails" else value_of(kid)) for kid in kids]
    return f"{name}{f'={name}' if does == 'asks' else ''}({','.join(said)})"


def _end(tree: Tree, said: list[str]) -> str:
    name, does, _ = tree
    if does == "fails":
        raise Refused(name)
    answer = f"={interrupt(name)}" if does == "asks" else ""
    return f"{name}{answer}({','.join(said)})"


@task(name="run")
def run(tree: Tree) -> str:
    """A call, in sync code."""

    def said(call: Any) -> str:
        try:
            return call.result()
        except Refused:
            return "!"

    kids = tree[2]
    calls = [run(kid) for kid in kids] if tree[1] == "beside" else None
    return _end(tree, [said(call) for call in calls] if calls else [said(run(k)) for k in kids])


@task(name="run")
async def arun(tree: Tree) -> str:
    """A call, in async code."""

    async def said(call: Any) -> str:
        try:
            return await call
        except Refused:
            return "!"

    kids = tree[2]
    if tree[1] == "beside":
        calls = [arun(kid) for kid in kids]
        return _end(tree, [await said(call) for call in calls])
    return _end(tree, [await said(arun(kid)) for kid in kids])


def workflow(flavor: str) -> Any:
    """An entrypoint that makes one call."""

    def sync_flow(tree: Tree) -> str:
        return run(tree).result()

    async def async_flow(tree: Tree) -> str:
        return await arun(tree)

    code: Any = async_flow if flavor == "async" else sync_flow
    code.__name__ = "flow"
    return entrypoint(checkpointer=InMemorySaver())(code)


@dataclass
class Lives:
    """What the processes that brought a thread to its end did."""

    trace: list[Any] = field(default_factory=list[Any])
    crashes: int = 0
    value: Any = None

    @property
    def calls(self) -> set[tuple[str, str]]:
        """The tasks that began: id and name."""
        return {(id, detail) for what, id, detail in self.trace if what == "began"}


def bring_to_its_end(tree: Tree, flavor: Any, seed: int, crashes: tuple[Crash, ...] = ()) -> Lives:
    """Run, die, go on and answer until there is a result."""
    graph, env, lives = workflow(flavor), SimEnv(), Lives()
    given: Any = tree
    deaths = list(crashes)
    for nth in range(200):
        crash = deaths.pop(0) if deaths else None
        life: SimResult = simulate(
            graph, given, CONFIG, seed=seed + nth, env=env, crash_at=crash, flavor=flavor
        )
        lives.trace.extend(life.trace)
        lives.crashes += life.crashed
        state = graph.get_state(CONFIG)
        if state.created_at is None:  # it died before anything was stored, and so before any task
            assert not lives.calls
            env = SimEnv()
            continue
        if not state.next:
            lives.value = state.values
            return lives
        answers = {each.id: each.value for each in state.interrupts}
        given = Command(resume=answers) if answers else None
    raise AssertionError("the workflow does not end")


def test_calls_are_the_same_in_sync_and_in_async_code_in_any_order(capsys: Any) -> None:
    tally = Tally()
    for seed in range(TREES):
        tree = tree_of(Random(seed))
        seen: list[set[tuple[str, str]]] = []
        for flavor in ("sync", "async"):
            for order in range(2):
                lives = bring_to_its_end(tree, flavor, 1000 * seed + order)
                assert lives.value == value_of(tree), f"seed {seed} {flavor} {order}"
                check_kept(lives, tree)
                seen.append(lives.calls)
                tally.schedules += 1
        assert all(each == seen[0] for each in seen), f"seed {seed}: ids depend on the order"
    tally.report(capsys, "trees of calls", at_least=4 * TREES)


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_calls_are_the_same_after_crashes(flavor: str, capsys: Any) -> None:
    tally, deaths = Tally(), 0
    for seed in range(CRASHES):
        chance = Random(seed)
        tree = tree_of(chance)
        undisturbed = bring_to_its_end(tree, flavor, seed)
        points = [Crash(chance.randint(1, 12), chance.random() < 0.5) for _ in range(3)]
        lives = bring_to_its_end(tree, flavor, seed, tuple(points))
        assert lives.value == value_of(tree), f"seed {seed}"
        assert lives.calls == undisturbed.calls, f"seed {seed}: a call has another id"
        check_kept(lives, tree)
        deaths += lives.crashes
        tally.schedules += 2
    tally.report(capsys, f"trees of calls with crashes, {flavor}", at_least=2 * CRASHES)
    assert deaths > CRASHES // 2


def check_kept(lives: Lives, tree: Tree) -> None:
    """No call with a recorded result was made again; each call of the tree was made."""
    check_effects([each for each in lives.trace if each[1] not in failing(lives.trace)])
    names = Counter(name for _, name in lives.calls)
    assert names["run"] == size(tree)


def failing(trace: list[Any]) -> set[str]:
    """The tasks that only ever failed or asked: what is stored of them is no result."""
    ended = {id for what, id, _ in trace if what == "ended"}
    return {id for what, id, _ in trace if what == "failed"} - ended


def size(tree: Tree) -> int:
    """How many calls a tree is."""
    return 1 + sum(map(size, tree[2]))
