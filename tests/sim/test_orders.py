"""Order of completion never changes the result: random graphs, each in many orders."""

from __future__ import annotations

import pytest
from hypothesis import given

from .graphs import Spec, spec_of_seed
from .schedules import Schedule, check, check_history, rows, schedule_of
from .strategies import Tally, graphs, plays

GRAPHS = 160
ORDERS = 50


def test_any_order_of_completion_gives_the_models_course_and_equal_bytes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = Tally()

    @plays(GRAPHS)
    @given(graphs())
    def body(spec: Spec) -> None:
        stored = None
        for seed in range(ORDERS):
            schedule = schedule_of(spec, seed, native="async" if seed % 5 == 4 else "sync")
            played = check(schedule)
            tally.schedules += 1
            if stored is None:
                stored = rows(played.saver)
                check_history(played, schedule)
            else:
                assert rows(played.saver) == stored, schedule.command()

    body()
    tally.report(capsys, "orders", at_least=GRAPHS * ORDERS)


@pytest.mark.parametrize("seed", range(40))
def test_a_schedule_replays_exactly(seed: int) -> None:
    schedule: Schedule = schedule_of(spec_of_seed(seed), seed, crashes=2)
    first, second = check(schedule), check(schedule)
    assert first.trace == second.trace
    assert rows(first.saver) == rows(second.saver)
