"""Which owners of a thread are respected, by what their claims say of the processes that made them.

The claim is that of a real child of this process, alive or killed; it is changed into that of a
process of another host, of another container, or of an older process with the same number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, time

import pytest

from plait.checkpoint.base.plans import run_plan
from plait.checkpoint.base.port import Plan
from plait.checkpoint.log import identity
from plait.checkpoint.log.claims import LEASE, Hold, is_owned
from plait.checkpoint.log.requests import Done, LaneRow, ReadLane, Transact
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ThreadBusyError
from plait.testing.processes import Child, fork

PARTS = ("boot", "namespace", "pid", "started", "host", "serial")
ELSEWHERE = [
    {"boot": "another-boot"},
    {"namespace": "pid:[1]"},
    {"boot": "?"},
    {"started": "?"},
]
"""Processes of which this one cannot say that they are dead."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def owner(path: Path) -> Iterator[Child]:
    """A process that has claimed thread "t" and then waits for its end."""

    def claim(tell: Callable[[str], None]) -> None:
        with SqliteSaver(path) as saver:
            saver.run(saver.open_session("t").claim())
            tell("claimed")
            os.read(os.pipe()[0], 1)

    child = fork(claim)
    assert child.hear() == "claimed"
    yield child
    child.kill()


def lane_of(path: Path) -> LaneRow:
    """The root lane of thread "t"."""

    def read() -> Plan[LaneRow]:
        return (yield ReadLane("t", ""))

    with SqliteSaver(path) as saver:
        return saver.run(read())


def said_otherwise(lane: LaneRow, **changed: str) -> LaneRow:
    """The lane as if its owner had said something else of itself."""
    assert lane.owner is not None
    parts = dict(zip(PARTS, lane.owner.split("|"), strict=True))
    return lane._replace(owner="|".join((parts | changed).values()))


def test_an_owner_of_this_host_is_respected_until_it_is_dead(path: Path, owner: Child) -> None:
    lane = lane_of(path)
    assert is_owned(lane)
    owner.kill()
    assert not is_owned(lane)


def test_a_younger_process_with_the_number_of_the_owner_is_not_the_owner(
    path: Path, owner: Child
) -> None:
    assert not is_owned(said_otherwise(lane_of(path), started="1"))


@pytest.mark.parametrize("changed", ELSEWHERE, ids=str)
def test_an_owner_that_may_live_elsewhere_is_respected_until_its_lease_ends(
    path: Path, owner: Child, changed: dict[str, str]
) -> None:
    lane = said_otherwise(lane_of(path), **changed)
    owner.kill()
    assert lane.lease is not None
    assert is_owned(lane)
    assert not is_owned(lane._replace(lease=time() - 1))
    assert not is_owned(lane._replace(lease=None))


@pytest.mark.parametrize(
    "owner_text", ["", "a worker", "a|b|c|d|e|f", "a|b|1|d|e", "1|2|3|4|5|6|7"]
)
def test_an_owner_that_says_nothing_of_its_process_is_respected_until_its_lease_ends(
    owner_text: str,
) -> None:
    lane = LaneRow(1, "t", "", None, 1, owner_text, time() + 1000)
    assert is_owned(lane)
    assert not is_owned(lane._replace(lease=time() - 1))
    with pytest.raises(ThreadBusyError, match="owned by another run;"):
        claim(lane)


@pytest.mark.parametrize("set_by", [3600.0, -3600.0])
@pytest.mark.parametrize("changed", [{}, {"namespace": "pid:[1]"}], ids=["here", "container"])
def test_a_wall_clock_that_is_set_ends_no_lease_and_makes_none_longer(
    path: Path,
    owner: Child,
    changed: dict[str, str],
    set_by: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lane = said_otherwise(lane_of(path), **changed)
    monkeypatch.setattr(identity, "time", lambda: time() + set_by)
    assert is_owned(lane)
    monkeypatch.setattr(identity, "monotonic", lambda: monotonic() + LEASE + 1)
    assert not is_owned(lane), "but a lease that was not renewed has ended"


def test_a_lease_of_another_machine_is_told_by_the_wall_clock(
    path: Path, owner: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = said_otherwise(lane_of(path), boot="another-boot")
    monkeypatch.setattr(identity, "monotonic", lambda: monotonic() + 3600.0)
    assert is_owned(lane)
    monkeypatch.setattr(identity, "time", lambda: time() + LEASE + 1)
    assert not is_owned(lane)


def test_a_claim_of_an_older_plait_is_respected_by_the_wall_clock(path: Path, owner: Child) -> None:
    lane = said_otherwise(lane_of(path), serial="7")
    assert is_owned(lane)
    assert not is_owned(lane._replace(lease=time() - 1))
    owner.kill()
    assert not is_owned(lane)


def test_leases_are_told_by_the_clock_of_the_storage_where_it_has_one() -> None:
    lane = LaneRow(1, "t", "", None, 1, "a worker", lease=100.0, clock=99.0)
    assert is_owned(lane)
    assert not is_owned(lane._replace(clock=100.0))
    with pytest.raises(ThreadBusyError, match="its claim lasts 1 s more"):
        claim(lane)


def test_a_thread_without_an_owner_is_free() -> None:
    lane = LaneRow(1, "t", "", None, 1, None, time() + 1000)
    assert not is_owned(lane)
    taken = claim(lane).claim
    assert taken is not None
    assert (taken.fence, taken.lease) == (1, lane.lease)


def test_an_owner_that_dies_after_a_load_has_seen_it_may_have_stored_more(
    path: Path, owner: Child
) -> None:
    lane = lane_of(path)
    hold = Hold("t", "reject")
    hold.look(lane)
    owner.kill()
    with pytest.raises(ThreadBusyError, match="Thread 't'"):
        claim(lane, hold)
    assert claim(lane, hold).claim, "what is looked at anew is of a dead owner"


def test_a_claim_goes_by_what_a_load_has_seen_only_once() -> None:
    hold = Hold("t", "reject")
    hold.look(None)
    first, second = claim(None, hold).claim, claim(LaneRow(1, "t", "", None, 7, None, None), hold)
    assert first is not None
    assert second.claim is not None
    assert second.claim.fence == 7


def claim(lane: LaneRow | None, hold: Hold | None = None) -> Transact:
    """The transaction by which a run claims a thread whose root lane is this."""
    sent: list[Transact] = []

    def answer(request: object) -> object:
        if type(request) is ReadLane:
            return lane
        assert isinstance(request, Transact)
        sent.append(request)
        return Done(1, 1)

    batch = Transact("t", "")
    run_plan((hold or Hold("t", "reject")).acquire(batch, lambda _: False), answer)
    return sent[0]
