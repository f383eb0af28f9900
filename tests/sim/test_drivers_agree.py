"""Threads, asyncio and the simulation give equal results, and equal bytes with equal ids."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from .graphs import Spec
from .schedules import check, rows, schedule_of
from .strategies import Tally, graphs, plays

GRAPHS = 120
DRIVERS: list[dict[str, Any]] = [
    {"driver": "sim"},
    {"driver": "sync"},
    {"driver": "async"},
    {"driver": "async", "native": "async"},
    {"driver": "sync", "durability": "async"},
    {"driver": "async", "native": "async", "durability": "async"},
]


def test_drivers_agree_with_the_model_and_store_equal_bytes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = Tally()

    @plays(GRAPHS)
    @given(graphs())
    def body(spec: Spec) -> None:
        stored = None
        for options in DRIVERS:
            schedule = schedule_of(spec, 1, **options)
            played = check(schedule)
            tally.schedules += 1
            stored = stored or rows(played.saver)
            assert rows(played.saver) == stored, schedule.command()

    body()
    tally.report(capsys, "drivers", at_least=GRAPHS * len(DRIVERS))
