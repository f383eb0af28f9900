"""Guarded nodes under every order and every crash: no work is done twice, none is left out.

The effects are outside of what is simulated. A policy that looks at them must end with each done
once, wherever the process dies; without it some crash repeats one.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Annotated, Any, Literal, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, SimEnv, simulate
from plait.func import task
from plait.graph import START, StateGraph
from plait.types import UnknownOutcome
from plait.typing import MISSING

CONFIG: Any = {"configurable": {"thread_id": "1"}}
Flavor = Literal["sync", "async"]
MOST_REQUESTS = 60
NODES = ("a", "b", "next")


class State(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]


def build(effects: Counter[str], flavor: Flavor, *, guarded: bool, eager: bool) -> Any:
    """Two guarded nodes beside a slow one, a guarded one after them, one that calls a task."""

    def look(outcome: UnknownOutcome) -> Any:
        name = outcome.input["name"] if outcome.node == "pay" else outcome.node
        found = effects[name]
        if not found:
            return MISSING
        return name if outcome.node == "pay" else {"items": [name]}

    policy: Any = look if guarded else None

    def work(name: str) -> Any:
        def code(state: Any) -> Any:
            effects[name] += 1
            return {"items": [name]}

        async def acode(state: Any) -> Any:
            return code(state)

        return acode if flavor == "async" else code

    def pay(name: str) -> str:
        effects[name] += 1
        return name

    async def apay(name: str) -> str:
        return pay(name)

    paying: Any = task(name="pay", on_unknown=policy)(apay if flavor == "async" else pay)

    def calls(state: Any) -> Any:
        return {"items": [paying("task").result()]}

    async def acalls(state: Any) -> Any:
        return {"items": [await paying("task")]}

    builder = StateGraph(State)
    for name in NODES:
        builder.add_node(name, work(name), on_unknown=policy, writes=["items"])
    builder.add_node("caller", acalls if flavor == "async" else calls, writes=["items"])
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(START, "caller")
    builder.add_edge("a", "next")
    return builder.compile(schedule="eager" if eager else "superstep")


@pytest.mark.parametrize("flavor", ["sync", "async"])
@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("eager", [False, True])
def test_no_crash_repeats_a_guarded_effect(flavor: Flavor, durability: str, eager: bool) -> None:
    deaths = 0
    for request in range(1, MOST_REQUESTS):
        for after in (False, True):
            for seed in range(4):
                effects: Counter[str] = Counter()
                graph = build(effects, flavor, guarded=True, eager=eager)
                graph.checkpointer = InMemorySaver()
                env = SimEnv()
                options: Any = {"flavor": flavor, "env": env, "durability": durability}
                point = Crash(request, after)
                life = simulate(graph, {"items": []}, CONFIG, seed=seed, crash_at=point, **options)
                if life.crashed:
                    deaths += 1
                    stored = graph.get_state(CONFIG).created_at is not None
                    given = None if stored else {"items": []}
                    simulate(graph, given, CONFIG, seed=seed + 1, **options)
                where = f"request {request}, after={after}, seed {seed}: {effects}"
                assert effects == dict.fromkeys((*NODES, "task"), 1), where
                items = graph.get_state(CONFIG).values["items"]
                assert items == ["a", "b", "task", "next"], where
        if not life.crashed:
            break
    assert deaths > 20


def test_without_a_guard_some_crash_repeats_an_effect() -> None:
    repeated = 0
    for request in range(1, MOST_REQUESTS):
        effects: Counter[str] = Counter()
        graph = build(effects, "sync", guarded=False, eager=False)
        graph.checkpointer = InMemorySaver()
        env = SimEnv()
        point = Crash(request, False)
        if not simulate(graph, {"items": []}, CONFIG, seed=1, env=env, crash_at=point).crashed:
            break
        stored = graph.get_state(CONFIG).created_at is not None
        simulate(graph, None if stored else {"items": []}, CONFIG, seed=2, env=env)
        repeated += max(effects.values()) > 1
    assert repeated
