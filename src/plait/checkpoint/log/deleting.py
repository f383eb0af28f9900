"""Deleting a thread, as a plan: all its lanes, under a claim that is given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.requests import Done, DropLanes, LaneRow, ListLanes, Refused
from plait.checkpoint.log.session import LogSession
from plait.errors import ThreadBusyError

T = TypeVar("T")


def delete_thread(session: LogSession) -> Plan[None]:
    """Delete all lanes of a thread, under a claim."""
    lanes: list[LaneRow] = yield ListLanes(session.thread_id)
    if lanes:
        yield from released(session, _claim_and_drop(session))


def _claim_and_drop(session: LogSession) -> Plan[None]:
    yield from session.claim()
    yield from drop_lanes(session)


def drop_lanes(session: LogSession) -> Plan[None]:
    """Delete all lanes of a thread that is claimed, and the claim with them.

    At once: without its inner lanes, a thread would look whole, and its graphs would have forgotten
    what they ask and remember.
    """
    lanes: list[LaneRow] = yield ListLanes(session.thread_id)
    yield from drop(session, [lane.lane for lane in sorted(lanes, key=_root_last)])
    session.forget_claim()


def released(session: LogSession, work: Plan[T]) -> Plan[T]:
    """Do work that claims the thread, and give the claim back, however the work ends: a claim that
    failed may have been stored all the same."""
    try:
        result = yield from work
    except GeneratorExit:  # whoever did the requests is gone
        raise
    except BaseException:
        yield from session.release()
        raise
    yield from session.release()
    return result


def _root_last(lane: LaneRow) -> bool:
    return lane.ns == ""


def drop(session: LogSession, lanes: Sequence[int]) -> Plan[None]:
    """Delete lanes of a thread that is claimed, all or none."""
    answer: Done | Refused = yield DropLanes(lanes, session.thread_id, session.fence)
    if isinstance(answer, Refused):
        raise ThreadBusyError(
            f"Thread {session.thread_id!r} was taken over by another run before it was deleted. "
            "Delete it again when that run has ended."
        )
    if session.recent is not None:
        for lane in lanes:
            session.recent.drop(lane)


__all__ = ["delete_thread", "drop", "drop_lanes", "released"]
