"""The eager schedule gives what the ordinary one does: random graphs, orders, crashes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from math import inf
from random import Random
from typing import Annotated, Any, TypedDict
from zlib import crc32

import pytest
from hypothesis import given

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, SimEnv, simulate
from plait.errors import InvalidUpdateError
from plait.graph import END, START, StateGraph
from plait.runnables import RunnableConfig
from plait.runtime import Runtime
from plait.types import Command, RetryPolicy, Send, interrupt

from .graphs import NAMES, Broken, Flaky, Node, Spec, answer_to, spec_of_seed, spec_of_text
from .schedules import CONFIG, MODES, Played, check_effects
from .schedules import _collect as collect
from .strategies import Tally, graphs, plays

GRAPHS = 40
ORDERS = 8
OWN_ENOUGH = 3
"""Runs of a node after which it sends nobody any more."""
HOPS = 4
"""How many `Send`s follow one another in a chain."""

broken: dict[str, int] = {}
began: list[int] = []
"""The super-steps of the tasks of a play, in the order in which they began."""


def keys_of(spec: Spec, node: Node) -> list[str]:
    """The keys that a node reads: its own, and a few of the others'."""
    seed = crc32(f"{spec.text}/{node.name}".encode())
    return [n.name for n in spec.nodes if n is node or Random(seed + ord(n.name)).random() < 0.1]


def schema(name: str, keys: list[str]) -> Any:
    """A state schema of these keys; each collects entries, `total` adds up."""
    kinds: dict[str, Any] = {
        key: Annotated[list[str], operator.add] for key in keys if key != "total"
    }
    if "total" in keys:
        kinds["total"] = Annotated[int, operator.add]
    return TypedDict(name, kinds, total=False)  # type: ignore[operator]


def mark(node: Node, given: Any) -> int:
    return crc32(repr((node.name, sorted(given.items()))).encode()) % 89


def build(spec: Spec, schedule: str, native: str, *, chains: bool) -> Any:
    """The graph with this schedule. Nodes read few keys, and declare what they write.

    Args:
        chains: what a `Send` starts goes on by Commands, from what it was sent alone.
    """
    builder: Any = StateGraph(schema("State", [*(n.name for n in spec.nodes), "total"]))
    retry = RetryPolicy(
        initial_interval=0.0, jitter=False, max_attempts=3, retry_on=Flaky, max_interval=0.0
    )
    for node in spec.nodes:
        reads = schema(f"Reads_{node.name}", keys_of(spec, node))
        builder.add_node(
            node.name,
            code_of(node, native, chains=chains),
            input_schema=reads,
            destinations=goals_of(node) if chains else None,
            defer=node.defer,
            retry_policy=retry,
            writes=[node.name, "total"],
        )
    for name in spec.entry:
        builder.add_edge(START, name)
    for node in spec.nodes:
        for goal in node.edges:
            builder.add_edge(node.name, goal)
        if not chains and (node.routes or node.sends):
            ends = [*NAMES[: len(spec.nodes)], END]
            builder.add_conditional_edges(node.name, path_of(node), ends)
    for sources, target in spec.joins:
        builder.add_edge(list(sources), target)
    return builder.compile(schedule=schedule)


def goals_of(node: Node) -> tuple[str, ...]:
    """Where a node leads by Commands."""
    return tuple(dict.fromkeys((*node.routes, *filter(None, (node.sends,)))))


def code_of(node: Node, native: str, *, chains: bool) -> Any:
    def work(state: Any, attempt: int) -> Any:
        if attempt <= node.flaky:
            raise Flaky(node.name)
        answers = [interrupt(f"{node.name}{n}?{mark(node, state)}") for n in range(node.asks)]
        if broken.get(node.name, 0) < node.broken:
            broken[node.name] = broken.get(node.name, 0) + 1
            raise Broken(node.name)
        seen = mark(node, state)
        update = {node.name: ["".join((node.name, str(seen), *answers))], "total": seen}
        return Command(update=update, goto=chain(node, state, seen)) if chains else update

    def sync_code(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> Any:
        began.append(config["metadata"]["langgraph_step"])
        return work(state, runtime.execution_info.node_attempt)  # type: ignore[union-attr]

    async def async_code(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> Any:
        began.append(config["metadata"]["langgraph_step"])
        return work(state, runtime.execution_info.node_attempt)  # type: ignore[union-attr]

    return async_code if native == "async" else sync_code


def chain(node: Node, given: Any, seen: int) -> list[Send]:
    """Where a chain goes on: up to three `Send`s, each with one hop less to go."""
    hops, goals = given.get("hops", HOPS), goals_of(node)
    if not hops or not goals or len(given.get(node.name, ())) >= OWN_ENOUGH:
        return []
    return [
        Send(goals[(seen + item) % len(goals)], {"hops": hops - 1, "item": item, "of": seen})
        for item in range(1 + seen % 3 if hops > 1 else seen % 2)
    ]


def path_of(node: Node) -> Any:
    def path(state: Any) -> list[Any]:
        if len(state.get(node.name, ())) >= OWN_ENOUGH:
            return []
        seen = mark(node, state)
        goals = [goal for i, goal in enumerate(node.routes) if seen >> i & 1]
        arg = {"item": 1, "of": seen}
        return [*goals, *(Send(node.sends, arg) for _ in range(seen % 4 if node.sends else 0))]

    return path


@lru_cache(maxsize=8)
def compiled(text: str, schedule: str, native: str, chains: bool) -> Any:
    return build(spec_of_text(text), schedule, native, chains=chains)


def play(
    text: str, schedules: tuple[str, ...], seed: int, crashes: int, native: str, *, chains: bool
) -> Played:
    """Run a graph to its end, through crashes, questions and errors, in an order of its seed.

    Args:
        schedules: each life has one of them.
    """
    chance, env = Random(seed), SimEnv()
    played = Played(saver=InMemorySaver())
    broken.clear()
    began.clear()
    start: Any = {"total": 1}
    given: Any = start
    concurrency = chance.choice([None, None, 2, 3])
    config = {**CONFIG, "max_concurrency": concurrency} if concurrency else CONFIG
    while True:
        played.lives += 1
        assert played.lives < 200, "the schedule does not end"
        dies = played.deaths < crashes
        graph = compiled(text, chance.choice(schedules), native, chains)
        graph.checkpointer = played.saver
        life = simulate(
            graph,
            given,
            config,
            seed=chance.getrandbits(32),
            crash_at=Crash(chance.randint(1, 16), chance.random() < 0.5) if dies else None,
            env=env,
            flavor=native,  # type: ignore[arg-type]
            stream_mode=MODES,
            catch=(Broken, InvalidUpdateError),
        )
        played.trace += life.trace
        asked = collect(life.parts, played.course)
        if life.crashed:
            played.deaths += 1
            begun = any(each.what == "committed" for each in played.trace)
            given = None if begun else start
        elif life.error is not None:
            given = None
        elif asked:
            some = [each for each in asked if chance.random() < 0.75] or [chance.choice(asked)]
            given = Command(resume={each.id: answer_to(each.value) for each in some})
        else:
            return played


@lru_cache(maxsize=8)
def ordinary(text: str, chains: bool) -> Played:
    """What an undisturbed ordinary run comes to."""
    return play(text, ("superstep",), 0, 0, "sync", chains=chains)


def check(
    text: str,
    seed: int,
    crashes: int,
    native: str,
    *,
    chains: bool = False,
    schedules: tuple[str, ...] = ("eager",),
) -> Played:
    """An eager play comes to what an undisturbed ordinary one comes to, step for step."""
    plain = ordinary(text, chains).course
    try:
        eager = play(text, schedules, seed, crashes, native, chains=chains)
        steps = eager.course.steps
        if not eager.deaths:
            assert steps.keys() == plain.steps.keys()
        assert steps.keys() <= plain.steps.keys()
        for number, step in steps.items():
            right = plain.steps[number]
            assert (step.values, step.next) == (right.values, right.next), f"super-step {number}"
            if not eager.deaths and len(schedules) == 1:  # what ran ahead is told by an eager run
                assert step.updates == right.updates, f"super-step {number}"
        check_effects(eager.trace)
        assert len(ids(eager)) == len(ids(ordinary(text, chains))), "a task ran under two ids"
        graph = compiled(text, "eager", native, chains)
        graph.checkpointer = eager.saver
        history = list(graph.get_state_history(CONFIG))
        assert [(s.metadata["step"], s.values, list(s.next)) for s in history] == [
            (number, plain.steps[number].values, plain.steps[number].next)
            for number in sorted(plain.steps, reverse=True)
        ]
    except Exception as error:
        more = f"chains={chains}, schedules={schedules}"
        call = f"check({text!r}, {seed}, {crashes}, {native!r}, {more})"
        error.add_note(f"replay: {call} in {__name__}")
        raise
    return eager


def ids(played: Played) -> set[str]:
    """The ids of all tasks that began."""
    return {id for what, id, _ in played.trace if what == "began"}


def early_starts(steps: int) -> int:
    """How many tasks of the last play began before one that is so many super-steps behind."""
    earliest, early = inf, 0
    for step in reversed(began):
        early += step >= earliest + steps
        earliest = min(earliest, step)
    return early


def ahead_in_any_order(
    capsys: pytest.CaptureFixture[str], name: str, steps: int, play: Callable[..., None]
) -> int:
    """Plays drawn graphs in many orders, with crashes. How many tasks ran so many steps ahead.

    Args:
        name: what the count of schedules is reported as.
        play: takes a graph's text, the seed, how many crashes, and the driver.
    """
    tally = Tally()
    early = 0

    @plays(GRAPHS)
    @given(graphs())
    def body(spec: Spec) -> None:
        nonlocal early
        for seed in range(ORDERS):
            crashes = (0, 0, 1, 2)[seed % 4]
            native = "async" if seed % 5 == 4 else "sync"
            play(spec.text, seed, crashes, native)
            early += early_starts(steps)
            tally.schedules += 1

    body()
    tally.report(capsys, name, at_least=GRAPHS * ORDERS)
    return early


def test_an_eager_run_comes_to_what_the_ordinary_one_does_in_any_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    early = ahead_in_any_order(capsys, "eager", 1, check)
    assert early > GRAPHS // 2, "the schedules hardly ever ran ahead"


def test_chains_of_sends_come_to_what_the_ordinary_schedule_does_in_any_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def play(text: str, seed: int, crashes: int, native: str) -> None:
        schedules = ("eager", "superstep") if seed % 3 == 2 else ("eager",)
        check(text, seed, crashes, native, chains=True, schedules=schedules)

    early = ahead_in_any_order(capsys, "eager chains", 2, play)
    assert early > GRAPHS, "chains hardly ever ran ahead by more than a step"


@pytest.mark.parametrize("seed", range(20))
def test_graphs_of_plain_seeds_come_to_the_same_as_well(seed: int) -> None:
    check(spec_of_seed(seed).text, seed, seed % 3, "sync")
