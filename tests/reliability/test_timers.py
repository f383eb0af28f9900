"""Timers that were called off neither fire nor pile up."""

from __future__ import annotations

from plait.drivers.timers import Timers


def test_timers_fire_in_the_order_of_their_time() -> None:
    timers = Timers()
    for what, due in (("b", 2.0), ("a", 1.0), ("c", 3.0)):
        timers.set(what, due)
    fired = []
    while timers.next_due is not None:
        fired.append((timers.next_due, timers.pop()))
    assert fired == [(1.0, "a"), (2.0, "b"), (3.0, "c")]


def test_a_timer_that_was_called_off_or_moved_does_not_fire() -> None:
    timers = Timers()
    timers.set("gone", 1.0)
    timers.set("moved", 2.0)
    timers.unset("gone")
    timers.set("moved", 5.0)
    timers.unset("never set")
    assert timers.next_due == 5.0
    assert timers.pop() == "moved"
    assert timers.next_due is None


def test_timers_that_were_called_off_do_not_pile_up() -> None:
    timers = Timers()
    for number in range(10_000):
        timers.set(number, 1e9)
        timers.unset(number)
    assert len(timers._heap) < 200  # what a run of many steps would keep in memory


def test_timers_of_a_kind_are_called_off_together() -> None:
    timers = Timers()
    timers.set(1, 1.0)
    timers.set("stays", 2.0)
    timers.unset_all(int)
    assert timers.next_due == 2.0
