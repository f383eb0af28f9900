"""How long runs take by the virtual clock: an eager schedule takes as long as its longest chain."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import SimEnv, simulate
from plait.drivers.sim_world import World
from plait.graph import START, StateGraph
from plait.runtime import Runtime
from plait.types import Command, RetryPolicy, Send

CHAINS: Mapping[str, Sequence[int]] = {
    "early": (1, 1, 9),
    "late": (9, 1, 1),
    "even": (4, 3, 4),
    "long": (1, 1, 1, 1, 6),
}
"""The virtual seconds that each chain's tasks take, one after the other."""
JOIN_SECONDS = 2


class Busy(Exception):
    """A second of work: the task is tried again when it has passed."""


class State(TypedDict, total=False):
    done: Annotated[list[str], operator.add]
    joined: int


class Item(TypedDict):
    chain: str
    place: int


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock moves only when no task can run; what happens is heard of at once."""
    monkeypatch.setattr(World, "below", lambda self, bound: 0)
    monkeypatch.setattr(World, "flip", lambda self: False)


def work_for(seconds: int, runtime: Runtime[Any]) -> None:
    assert runtime.execution_info is not None
    if runtime.execution_info.node_attempt <= seconds:
        raise Busy


def stage(item: Item, runtime: Runtime[Any]) -> Command[Any]:
    seconds = CHAINS[item["chain"]]
    work_for(seconds[item["place"]], runtime)
    name = f"{item['chain']}{item['place']}"
    following = item["place"] + 1
    if following == len(seconds):
        return Command(update={"done": [name]})
    return Command(
        update={"done": [name]}, goto=Send("stage", {"chain": item["chain"], "place": following})
    )


def join(state: State, runtime: Runtime[Any]) -> State:
    work_for(JOIN_SECONDS, runtime)
    return {"joined": len(state["done"])}


def graph_of(schedule: str) -> Any:
    retry = RetryPolicy(
        initial_interval=1, backoff_factor=1, jitter=False, max_attempts=99, retry_on=Busy
    )
    builder = StateGraph(State)
    builder.add_node(stage, writes=["done"], destinations=("stage",), retry_policy=retry)
    builder.add_node(join, defer=True, retry_policy=retry)
    sends = [Send("stage", {"chain": chain, "place": 0}) for chain in CHAINS]
    builder.add_conditional_edges(START, lambda state: sends, ["stage"])
    builder.add_edge("stage", "join")
    return builder.compile(checkpointer=InMemorySaver(), schedule=schedule)  # type: ignore[arg-type]


def seconds_of(schedule: str) -> tuple[float, State]:
    env = SimEnv()
    life = simulate(graph_of(schedule), {}, {"configurable": {"thread_id": "1"}}, seed=1, env=env)
    return env.clock, life.states[-1]


def test_chains_of_sends_take_as_long_as_the_longest_of_them() -> None:
    by_step, right = seconds_of("superstep")
    places = range(max(map(len, CHAINS.values())))
    assert by_step == JOIN_SECONDS + sum(
        max(chain[place] for chain in CHAINS.values() if place < len(chain)) for place in places
    )
    eager, state = seconds_of("eager")
    assert eager == JOIN_SECONDS + max(map(sum, CHAINS.values()))
    assert state == right
