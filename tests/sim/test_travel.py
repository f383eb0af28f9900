"""Time travel: replays and forks from any checkpoint run exactly what comes after it.

Into subgraphs too, whose memory is that of the time that the thread went back to; and nothing of
this depends on the order of tasks, or on a process that dies between.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .strategies import Tally, plays
from .travel import travel

STEPS = 9
CALM, CRASHED = 150, 100
"""Journeys of each test: 2,500 schedules in some 12 s; `make prove` plays 10,000 (row 13)."""


def test_a_replay_or_fork_from_any_checkpoint_runs_exactly_the_suffix(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = Tally()

    @plays(CALM)
    @given(st.integers(0, 2**32))
    def body(seed: int) -> None:
        travel(seed, STEPS, crashes=False)
        tally.schedules += 1 + STEPS

    body()
    tally.report(capsys, "forks and replays", at_least=CALM * (1 + STEPS))


def test_forks_and_replays_through_crashes_end_where_undisturbed_ones_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = Tally()
    deaths = 0

    @plays(CRASHED)
    @given(st.integers(0, 2**32))
    def body(seed: int) -> None:
        nonlocal deaths
        deaths += travel(seed, STEPS, crashes=True).deaths
        tally.schedules += 1 + STEPS

    body()
    what = f"forks and replays with crashes ({deaths} deaths)"
    tally.report(capsys, what, at_least=CRASHED * (1 + STEPS))
    assert deaths > CRASHED
