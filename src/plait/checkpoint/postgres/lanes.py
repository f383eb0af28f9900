"""Many lanes in one round trip: what runs that begin at the same time look at first."""

from __future__ import annotations

from plait.checkpoint.log.requests import LaneRow, Together
from plait.checkpoint.postgres.rows import SQL, lane_row
from plait.postgres import Steps, text_array, to_text


def read_lanes(request: Together) -> Steps[list[LaneRow | None]]:
    """The lanes that several `ReadLane` ask for, in their order."""
    asked = request.requests
    rows = yield (
        SQL.read_lanes,
        (
            text_array([to_text(each.thread_id) for each in asked]),
            text_array([to_text(each.ns) for each in asked]),
        ),
    )
    found: list[LaneRow | None] = [None] * len(asked)
    for place, *row in rows:
        found[place - 1] = lane_row(tuple(row))
    return found


__all__ = ["read_lanes"]
