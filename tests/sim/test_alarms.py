"""Timers through every crash: what was due is answered once, and goes on to the same end."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, SimEnv, simulate
from plait.graph import START, StateGraph
from plait.timers import sleep
from plait.types import interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}
MOST_REQUESTS = 40
MOST_LIVES = 12


class State(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]


def build(flavor: str) -> Any:
    """A sleeper whose question times out, beside one that asks with a longer time."""

    def sleeper(state: Any) -> Any:
        sleep(60)
        return {"items": [interrupt("first?", timeout=60, default="nobody")]}

    def asker(state: Any) -> Any:
        return {"items": [interrupt("second?", timeout=100, default="late")]}

    async def asleeper(state: Any) -> Any:
        return sleeper(state)

    async def aasker(state: Any) -> Any:
        return asker(state)

    inner = StateGraph(State).add_node("asker", aasker if flavor == "async" else asker)
    builder = StateGraph(State)
    builder.add_node("sleeper", asleeper if flavor == "async" else sleeper)
    builder.add_node("inner", inner.add_edge(START, "asker").compile())
    builder.add_edge(START, "sleeper").add_edge(START, "inner")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_crash_anywhere_leaves_timers_that_come_to_the_same_end(
    flavor: Literal["sync", "async"],
) -> None:
    deaths = 0
    for life_that_dies in range(4):
        for request in range(1, MOST_REQUESTS):
            crashed = False
            for after in (False, True):
                graph, env = build(flavor), SimEnv()
                given: Any = {"items": []}
                for life in range(MOST_LIVES):
                    point = Crash(request, after) if life == life_that_dies else None
                    options: Any = {"seed": life, "env": env, "flavor": flavor}
                    ran = simulate(graph, given, CONFIG, crash_at=point, **options)
                    crashed = crashed or ran.crashed
                    deaths += ran.crashed
                    state = graph.get_state(CONFIG)
                    if state.created_at is not None:
                        given = None
                        if not state.next:
                            break
                    env.clock += 30
                assert state.values["items"] == ["late", "nobody"], (life_that_dies, request)
                assert 120 <= env.clock <= 240
            if not crashed:
                break
    assert deaths > 20
