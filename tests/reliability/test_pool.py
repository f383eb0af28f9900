"""The pool of worker threads: how many there are."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Thread
from time import monotonic
from typing import Any

import pytest

from plait.drivers import pool
from plait.drivers.pool import WorkerPool

GAVE_UP = 30.0


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What threads were started with; they run once a test says so, as on a busy machine."""
    begun: list[Callable[[], None]] = []

    class Delayed:
        def __init__(self, target: Callable[[], None], **options: Any) -> None:
            self._target = target

        def start(self) -> None:
            begun.append(self._target)

    monkeypatch.setattr(pool, "Thread", Delayed)
    return begun


def test_jobs_that_free_threads_will_take_start_no_more(started: list[Any]) -> None:
    workers = WorkerPool()
    workers.submit([(print, ())] * 2)
    for _ in range(50):
        workers.nudge()
    assert len(started) == 2


def test_jobs_that_wait_behind_others_start_more(started: list[Any]) -> None:
    workers = WorkerPool()
    together = Barrier(6)
    workers.submit([(together.wait, ())] * 5)
    deadline = monotonic() + GAVE_UP
    while together.n_waiting < 5 and monotonic() < deadline:
        workers.nudge()
        while started:
            Thread(target=started.pop(), daemon=True).start()
    together.wait(GAVE_UP)  # all five were under way at the same time
    assert not workers.backlog
