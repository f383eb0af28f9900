"""Crash and resume: the process dies at storage requests, before or after they take effect, or
stands still at one and comes back when another process has taken its thread over."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, SimEnv, simulate

from .graphs import INPUT, Spec, build, spec_of_seed
from .schedules import (
    CONFIG,
    TROUBLES,
    check,
    check_effects,
    check_history,
    expected,
    schedule_of,
)
from .strategies import Tally, graphs, plays

BLOCKS = 4
GRAPHS = 60
"""Graphs of each block."""
SCHEDULES = 50


@pytest.mark.parametrize("block", range(BLOCKS))
def test_crashed_and_stale_runs_come_to_the_models_end_and_repeat_nothing_acknowledged(
    block: int, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    deaths = zombies = 0

    @plays(GRAPHS, block=block)
    @given(graphs())
    def body(spec: Spec) -> None:
        nonlocal deaths, zombies
        for seed in range(SCHEDULES):
            crashes, stale = TROUBLES[seed % len(TROUBLES)]
            schedule = schedule_of(
                spec,
                seed,
                crashes=crashes,
                zombies=stale,
                durability="async" if seed % 3 == 2 else "sync",
                native="async" if seed % 7 == 4 else "sync",
            )
            played = check(schedule)
            if not played.course.conflict:
                check_history(played, schedule)
            deaths += played.deaths
            zombies += played.zombies
            tally.schedules += 1

    body()
    tally.report(
        capsys, f"crashes ({deaths} deaths, {zombies} zombies)", at_least=GRAPHS * SCHEDULES
    )
    assert deaths > tally.schedules / 3
    assert zombies > tally.schedules / 5


STEADY = [
    seed
    for seed in range(60)
    if not expected(spec_of_seed(seed).text).conflict
    and not any(node.asks or node.broken for node in spec_of_seed(seed).nodes)
][:6]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", STEADY)
def test_death_at_every_single_storage_request(number: int, after: bool) -> None:
    spec = spec_of_seed(number)
    model = expected(spec.text)
    for request in count(1):
        graph = build(spec)
        graph.checkpointer = InMemorySaver()
        env = SimEnv()
        first = simulate(graph, INPUT, CONFIG, seed=number, crash_at=Crash(request, after), env=env)
        stored = any(each.what == "committed" for each in first.trace)
        if first.crashed:
            given = None if stored else INPUT
            second = simulate(graph, given, CONFIG, seed=number, env=env)
            assert not second.crashed
            check_effects([*first.trace, *second.trace])
        state = graph.get_state(CONFIG)
        assert state.values == model.steps[max(model.steps)].values
        assert state.next == ()
        steps = [each.metadata["step"] for each in graph.get_state_history(CONFIG)]
        assert steps == sorted(model.steps, reverse=True)
        if not first.crashed:
            break
    assert request > 3
