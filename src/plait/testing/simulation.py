"""Simulated runs: a graph in one thread, over a virtual clock, in an order that a seed decides.

`simulate` plays one run and may crash it; `explore` plays many seeds with crashes and resumes, and
holds every one against the first. The same seed gives the same run, to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, cast

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import (
    Crash,
    Happening,
    SimEnv,
    SimResult,
    SimulatedCrash,
    SimulationError,
    simulate,
)
from plait.errors import ConfigError, nearest
from plait.testing.crashes import next_input, sleeps_until

MOST_LIVES = 100
_FLAVORS = ("sync", "async")
_STORED = ("sync", "async")


@dataclass
class Played:
    """One seed: what happened over all its lives, and the final state."""

    seed: int
    values: Any = None
    deaths: int = 0
    trace: list[Happening] = field(default_factory=list[Happening])
    requests: int = 0
    """The most storage requests that one of its lives made."""

    @property
    def repeated(self) -> list[tuple[str, str]]:
        """(task id, node) of tasks that began after their outcome was stored."""
        stored: set[str] = set()
        found: list[tuple[str, str]] = []
        for what, id, detail in self.trace:
            if what == "stored":
                stored.add(id)
            elif what == "began" and id in stored:
                found.append((id, detail))
        return found

    @property
    def begun(self) -> list[str]:
        """The nodes, in the order in which their tasks began."""
        return [each.detail for each in self.trace if each.what == "began"]


def explore(
    build: Callable[[Any], Any],
    input: Any,
    *,
    seeds: Iterable[int] = range(100),
    crashes: int = 1,
    answer: Any = None,
    flavor: Literal["sync", "async"] = "sync",
    durability: Literal["sync", "async"] = "sync",
) -> list[Played]:
    """Run a graph in many orders, killed and resumed, and hold the results against each other.

    Args:
        build: Given a saver, the compiled graph.
        input: What starts its thread.
        seeds: Which schedules.
        crashes: How often a schedule's process dies, at most.
        answer: What to answer to questions: a value, or a function of the `Interrupt`.
        flavor: "async" runs the async form of nodes.
        durability: As for `invoke`.

    Returns:
        What happened, seed by seed.

    Raises:
        AssertionError: A seed ended in another state than an undisturbed run, or a task ran again
            whose outcome was stored. The message names the seed: pass `seeds=[it]` to replay.
        SimulationError: A node waits for a real event, which a simulation does not have.
        ConfigError: There are no seeds, or an option is unknown: nothing would be shown.

    >>> from plait.graph import START, StateGraph
    >>> def build(saver):
    ...     builder = StateGraph(dict)
    ...     _ = builder.add_node("a", lambda state: {"said": "hello"})
    ...     return builder.add_edge(START, "a").compile(checkpointer=saver)
    >>> played = explore(build, {}, seeds=range(20), crashes=2)
    >>> played[0].values, sum(each.deaths for each in played) > 10
    ({'said': 'hello'}, True)
    """
    seeds = _asked(seeds, crashes, flavor, durability)
    rest = (answer, flavor, durability)
    calm = _play(build, input, Played(0), 0, 0, *rest)
    expected = calm.values
    found: list[Played] = []
    for seed in seeds:
        played = _play(build, input, Played(seed), crashes, calm.requests, *rest)
        replay = f"replay: explore(..., seeds=[{seed}], crashes={crashes})"
        assert played.values == expected, (
            f"Seed {seed} ended with {played.values!r}, not with {expected!r}.\n{replay}"
        )
        assert not played.repeated, (
            f"Seed {seed}: tasks ran again after their outcome was stored: {played.repeated}.\n"
            f"{replay}"
        )
        found.append(played)
    return found


def _asked(seeds: Any, crashes: Any, flavor: Any, durability: Any) -> list[int]:
    """The seeds, after a look at what else was asked for."""
    found: list[Any] = [*cast("Iterable[Any]", seeds)] if isinstance(seeds, Iterable) else []
    if not found or not all(isinstance(seed, int) for seed in found):
        raise ConfigError(f"seeds={seeds!r}: give some whole numbers, such as range(100).")
    if isinstance(crashes, bool) or not isinstance(crashes, int) or crashes < 0:
        raise ConfigError(f"crashes={crashes!r}: give a whole number, 0 or more.")
    for name, given, known in (("flavor", flavor, _FLAVORS), ("durability", durability, _STORED)):
        if given not in known:
            raise ConfigError(f"Unknown {name} {given!r}. {nearest(given, known)}")
    return found


def _play(
    build: Callable[[Any], Any],
    input: Any,
    played: Played,
    crashes: int,
    latest: int,
    answer: Any,
    flavor: Any,
    durability: str,
) -> Played:
    """Start, die, resume and answer, until the thread has ended."""
    chance, env = Random(played.seed), SimEnv(played.seed)
    graph: Any = build(InMemorySaver())
    config = {"configurable": {"thread_id": "simulated"}}
    modes: Sequence[str] = ("values",)
    for _ in range(MOST_LIVES):
        state = graph.get_state(config)
        given = next_input(state, input, answer, now=env.now())
        if given is ...:
            played.values = state.values
            return played
        due = sleeps_until(state)
        if due is not None:
            env.clock += max(0.0, due - env.now())
        crash = None
        if played.deaths < crashes:
            crash = Crash(chance.randint(1, latest), chance.random() < 0.5)
        life = simulate(
            graph, given, config, seed=chance.getrandbits(32), crash_at=crash, env=env,
            flavor=flavor, stream_mode=modes, durability=durability,
        )  # fmt: skip
        played.trace += life.trace
        played.deaths += life.crashed
        played.requests = max(played.requests, life.requests)
    raise SimulationError(f"Seed {played.seed} has not ended after {MOST_LIVES} runs.")


__all__ = [
    "Crash",
    "Happening",
    "Played",
    "SimEnv",
    "SimResult",
    "SimulatedCrash",
    "SimulationError",
    "explore",
    "simulate",
]
