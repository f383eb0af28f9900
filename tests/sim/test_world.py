"""The simulated world itself: its clock, what it refuses, nested graphs that die."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, SimEnv, SimulationError, simulate
from plait.graph import START, StateGraph
from plait.runtime import Runtime
from plait.types import Command, RetryPolicy

from .schedules import CONFIG, check_effects
from .test_interrupts import PROGRAM, WHO, expected, reply


def one(node: Any, **options: Any) -> Any:
    """A graph of one node."""
    builder: Any = StateGraph(dict)
    builder.add_node("node", node, **options)
    builder.add_edge(START, "node")
    return builder.compile()


def test_waits_between_attempts_take_virtual_time_only() -> None:
    def node(state: Any, runtime: Runtime[Any]) -> Any:
        assert runtime.execution_info is not None
        if runtime.execution_info.node_attempt < 4:
            raise ConnectionError
        return {"done": True}

    retry = RetryPolicy(initial_interval=3600.0, max_attempts=4, max_interval=1e6)
    env = SimEnv(5)
    result = simulate(one(node, retry_policy=retry), {}, seed=1, env=env)
    assert result.states[-1] == {"done": True}
    waited = 3600.0 * (1 + 2 + 4)
    assert waited <= env.clock <= waited + 3


def test_awaiting_a_real_event_is_a_named_error() -> None:
    async def node(state: Any) -> Any:
        await asyncio.get_running_loop().create_future()

    async def sleeper(state: Any) -> Any:
        await asyncio.sleep(1)

    async def waiter(state: Any) -> Any:
        await Awaitable()

    for code in (node, sleeper):
        with pytest.raises(SimulationError, match="no event loop, and node 'node' asks for one"):
            simulate(one(code), {}, seed=1, flavor="async")
    with pytest.raises(SimulationError, match="no event loop, and node 'node' awaits 'something'"):
        simulate(one(waiter), {}, seed=1, flavor="async")


class Awaitable:
    """Waits for something that only an event loop could bring."""

    def __await__(self) -> Any:
        yield "something"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_nested_graphs_with_questions_survive_crashes(durability: str) -> None:
    for seed in range(150):
        chance, env, trace = Random(seed), SimEnv(), []
        PROGRAM.checkpointer = InMemorySaver()
        given: Any = {}
        deaths = 3
        while True:
            crash = Crash(chance.randint(1, 14), chance.random() < 0.5) if deaths else None
            life = simulate(
                PROGRAM,
                given,
                CONFIG,
                seed=chance.getrandbits(32),
                env=env,
                crash_at=crash,
                stream_mode=["updates"],
                durability=durability,
            )
            trace += life.trace
            if life.crashed:
                deaths -= 1
            state = PROGRAM.get_state(CONFIG)
            if not state.next and state.values:
                break
            pending = state.interrupts
            answers = {each.id: reply(each.value) for each in pending if chance.random() < 0.7}
            given = Command(resume=answers) if answers else None if state.next else {}
        assert sorted(state.values["told"]) == sorted(map(expected, WHO)), f"seed {seed}"
        check_effects(trace)
