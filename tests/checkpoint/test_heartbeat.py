"""The heartbeat: leases are renewed in time, together, again after a failure, and never for long.

No test measures time: each waits for what must happen, and gives up where it would come too late.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest

from plait.checkpoint.log import heartbeat
from plait.checkpoint.log.claims import Hold
from plait.checkpoint.log.heartbeat import Heart
from plait.checkpoint.log.requests import Renew
from plait.errors import StorageUnavailableError
from plait.testing.processes import GAVE_UP

SHORT, LONG = 0.05, 4000.0


def held(renew: Callable[[Renew], Any] | None, root: int, seconds: float = SHORT) -> Hold:
    """A hold on the thread whose root lane has this number."""
    hold = Hold("t", "reject", seconds, renew)
    hold.root, hold.fence, hold.held = root, root * 10, True
    return hold


def wait_until(renewals: SimpleQueue[Renew], lanes: set[tuple[int, int]]) -> None:
    """Wait for a statement that renews exactly these lanes."""
    while set(renewals.get(timeout=GAVE_UP).lanes) != lanes:
        pass


def heartbeats() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "plait-heartbeat"}


def test_a_short_lease_wakes_a_heart_that_sleeps_for_a_long_one() -> None:
    heart, renewals = Heart(), SimpleQueue[Renew]()
    long, short = held(renewals.put, 1, LONG), held(renewals.put, 2)
    before = heartbeats()
    heart.keep(long)
    heart.keep(short)
    wait_until(renewals, {(2, 20)})
    wait_until(renewals, {(2, 20)})
    assert len(heartbeats() - before) == 1
    long.held = short.held = False


def test_a_heart_that_was_woken_sleeps_again(monkeypatch: pytest.MonkeyPatch) -> None:
    awake = SimpleQueue[bool]()

    class Watched(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            awake.put(self.is_set())
            return super().wait(timeout)

    monkeypatch.setattr(heartbeat, "Event", Watched)
    heart, renewals = Heart(), SimpleQueue[Renew]()
    long, shorter = held(renewals.put, 1, LONG), held(renewals.put, 2, LONG / 2)
    heart.keep(long)
    assert not awake.get(timeout=GAVE_UP)
    heart.keep(shorter)
    wait_until(renewals, {(2, 20)})
    assert not awake.get(timeout=GAVE_UP)
    long.held = shorter.held = False
    heart.keep(held(renewals.put, 3))  # wakes it, so that it ends


def test_leases_of_one_saver_and_one_length_are_renewed_by_one_statement() -> None:
    heart, renewals, others = Heart(), SimpleQueue[Renew](), SimpleQueue[Renew]()
    holds = [held(renewals.put, 1), held(renewals.put, 2), held(others.put, 3)]
    for hold in holds:
        heart.keep(hold)
    wait_until(renewals, {(1, 10), (2, 20)})
    wait_until(others, {(3, 30)})
    for hold in holds:
        hold.held = False


def test_a_renewal_that_fails_is_told_and_tried_again_and_hinders_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heart, renewals, calls = Heart(), SimpleQueue[Renew](), list[Renew]()

    def fails_at_first(renew: Renew) -> None:
        calls.append(renew)
        if len(calls) < 3:
            raise OSError("the disk is away")
        renewals.put(renew)

    fine = SimpleQueue[Renew]()
    first, second = held(fails_at_first, 1), held(fine.put, 2)
    heart.keep(first)
    heart.keep(second)
    wait_until(renewals, {(1, 10)})
    wait_until(fine, {(2, 20)})
    first.held = second.held = False
    assert [record.message.partition(". ")[0] for record in caplog.records] == [
        "The leases of 1 threads that run here could not be renewed: the disk is away"
    ] * 2


def test_a_renewal_that_hangs_hinders_none_of_other_savers() -> None:
    heart, fine, later = Heart(), SimpleQueue[Renew](), SimpleQueue[Renew]()
    asked, answers = SimpleQueue[Renew](), threading.Event()

    def hangs(renew: Renew) -> None:
        asked.put(renew)
        answers.wait(GAVE_UP)

    first, second, third = held(hangs, 1), held(fine.put, 2), held(later.put, 3)
    heart.keep(first)
    asked.get(timeout=GAVE_UP)
    heart.keep(second)
    heart.keep(third)
    for _ in range(3):
        wait_until(fine, {(2, 20)})
        wait_until(later, {(3, 30)})
    assert asked.empty(), "who has not answered is not asked again"
    answers.set()
    asked.get(timeout=GAVE_UP)
    first.held = second.held = third.held = False


def test_a_hold_that_no_other_process_can_see_is_not_renewed() -> None:
    heart, renewals = Heart(), SimpleQueue[Renew]()
    here, there = held(None, 1), held(renewals.put, 2)
    heart.keep(here)
    heart.keep(there)
    wait_until(renewals, {(2, 20)})
    here.held = there.held = False


@pytest.mark.parametrize("end", ["given back", "dropped"])
def test_the_thread_ends_with_the_last_hold_and_begins_with_the_next(end: str) -> None:
    heart, renewals = Heart(), SimpleQueue[Renew]()
    before = heartbeats()
    for root in (1, 2):
        hold = held(renewals.put, root)
        heart.keep(hold)
        (thread,) = heartbeats() - before
        wait_until(renewals, {(root, root * 10)})
        if end == "given back":
            hold.held = False
        else:
            del hold
            gc.collect()
        thread.join(GAVE_UP)
        assert not thread.is_alive()


def test_a_claim_after_one_that_found_no_thread_starts_the_heart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heart, renewals = Heart(), SimpleQueue[Renew]()
    hold = held(renewals.put, 1)

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(StorageUnavailableError, match="start new thread"):
            heart.keep(hold)
    heart.keep(hold)
    wait_until(renewals, {(1, 10)})
    hold.held = False
