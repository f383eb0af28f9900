"""The eager schedule gives what the ordinary one does: random graphs, orders, crashes."""

from __future__ import annotations

import operator
from functools import lru_cache
from random import Random
from typing import Annotated, Any, TypedDict
from zlib import crc32

import pytest
from hypothesis import given

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, SimEnv, simulate
from plait.errors import InvalidUpdateError
from plait.graph import END, START, StateGraph
from plait.runtime import Runtime
from plait.types import Command, RetryPolicy, Send, interrupt

from .graphs import NAMES, Broken, Flaky, Node, Spec, answer_to, spec_of_seed, spec_of_text
from .schedules import CONFIG, MODES, Played, check_effects
from .schedules import _collect as collect
from .strategies import Tally, graphs, plays

GRAPHS = 60
ORDERS = 12
OWN_ENOUGH = 3
"""Runs of a node after which its conditional edge leads to the end."""

broken: dict[str, int] = {}


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


def build(spec: Spec, schedule: str, native: str) -> Any:
    """The graph with this schedule. Nodes read few keys, and declare what they write."""
    builder: Any = StateGraph(schema("State", [*(n.name for n in spec.nodes), "total"]))
    retry = RetryPolicy(
        initial_interval=0.0, jitter=False, max_attempts=3, retry_on=Flaky, max_interval=0.0
    )
    for node in spec.nodes:
        reads = schema(f"Reads_{node.name}", keys_of(spec, node))
        builder.add_node(
            node.name,
            code_of(node, native),
            input_schema=reads,
            defer=node.defer,
            retry_policy=retry,
            writes=[node.name, "total"],
        )
    for name in spec.entry:
        builder.add_edge(START, name)
    for node in spec.nodes:
        for goal in node.edges:
            builder.add_edge(node.name, goal)
        if node.routes or node.sends:
            ends = [*NAMES[: len(spec.nodes)], END]
            builder.add_conditional_edges(node.name, path_of(node), ends)
    for sources, target in spec.joins:
        builder.add_edge(list(sources), target)
    return builder.compile(schedule=schedule)


def code_of(node: Node, native: str) -> Any:
    def work(state: Any, attempt: int) -> dict[str, Any]:
        if attempt <= node.flaky:
            raise Flaky(node.name)
        answers = [interrupt(f"{node.name}{n}?{mark(node, state)}") for n in range(node.asks)]
        if broken.get(node.name, 0) < node.broken:
            broken[node.name] = broken.get(node.name, 0) + 1
            raise Broken(node.name)
        seen = mark(node, state)
        return {node.name: ["".join((node.name, str(seen), *answers))], "total": seen}

    def sync_code(state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        return work(state, runtime.execution_info.node_attempt)  # type: ignore[union-attr]

    async def async_code(state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        return work(state, runtime.execution_info.node_attempt)  # type: ignore[union-attr]

    return async_code if native == "async" else sync_code


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
def compiled(text: str, schedule: str, native: str) -> Any:
    return build(spec_of_text(text), schedule, native)


def play(text: str, schedule: str, seed: int, crashes: int, native: str) -> Played:
    """Run a graph to its end, through crashes, questions and errors, in an order of its seed."""
    chance, env = Random(seed), SimEnv()
    graph, played = compiled(text, schedule, native), Played(saver=InMemorySaver())
    graph.checkpointer = played.saver
    broken.clear()
    start: Any = {"total": 1}
    given: Any = start
    concurrency = chance.choice([None, None, 2, 3])
    config = {**CONFIG, "max_concurrency": concurrency} if concurrency else CONFIG
    while True:
        played.lives += 1
        assert played.lives < 200, "the schedule does not end"
        dies = played.deaths < crashes
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


def check(text: str, seed: int, crashes: int, native: str) -> Played:
    """An eager play comes to what an undisturbed ordinary one comes to, step for step."""
    plain = play(text, "superstep", 0, 0, "sync").course
    try:
        eager = play(text, "eager", seed, crashes, native)
        steps = eager.course.steps
        if not eager.deaths:
            assert steps.keys() == plain.steps.keys()
        assert steps.keys() <= plain.steps.keys()
        for number, step in steps.items():
            right = plain.steps[number]
            assert (step.values, step.next) == (right.values, right.next), f"super-step {number}"
            if not eager.deaths:
                assert step.updates == right.updates, f"super-step {number}"
        check_effects(eager.trace)
        history = list(compiled(text, "eager", native).get_state_history(CONFIG))
        assert [(s.metadata["step"], s.values, list(s.next)) for s in history] == [
            (number, plain.steps[number].values, plain.steps[number].next)
            for number in sorted(plain.steps, reverse=True)
        ]
    except Exception as error:
        error.add_note(f"replay: check({text!r}, {seed}, {crashes}, {native!r}) in {__name__}")
        raise
    return eager


def early_starts(played: Played) -> int:
    """How many tasks began before the super-step of a task that ended after them was committed."""
    began_at = {id: i for i, (what, id, _) in enumerate(played.trace) if what == "began"}
    commits = [i for i, each in enumerate(played.trace) if each.what == "committed"]
    stored = {id: i for i, (what, id, _) in enumerate(played.trace) if what == "stored"}
    return sum(
        1
        for id, at in began_at.items()
        if id in stored and any(at < commit < stored[id] for commit in commits)
    )


def test_an_eager_run_comes_to_what_the_ordinary_one_does_in_any_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = Tally()
    early = 0

    @plays(GRAPHS)
    @given(graphs())
    def body(spec: Spec) -> None:
        nonlocal early
        for seed in range(ORDERS):
            crashes = (0, 0, 1, 2)[seed % 4]
            native = "async" if seed % 5 == 4 else "sync"
            early += early_starts(check(spec.text, seed, crashes, native))
            tally.schedules += 1

    body()
    tally.report(capsys, "eager", at_least=GRAPHS * ORDERS)
    assert early > GRAPHS // 2, "the schedules hardly ever ran ahead"


@pytest.mark.parametrize("seed", range(20))
def test_graphs_of_plain_seeds_come_to_the_same_as_well(seed: int) -> None:
    check(spec_of_seed(seed).text, seed, seed % 3, "sync")
