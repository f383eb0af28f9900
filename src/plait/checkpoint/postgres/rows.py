"""The log's storage requests in SQL: each is one statement, so one round trip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import time
from typing import Any, TypeAlias

from plait.checkpoint.log.requests import (
    CheckpointRow,
    Done,
    DropLane,
    LaneRow,
    ListLanes,
    ListThreads,
    ListValues,
    ReadCheckpoints,
    ReadLane,
    ReadValues,
    ReadVersions,
    ReadWrites,
    Refused,
    Renew,
    Together,
    Transact,
    ValueRow,
    WriteRow,
)
from plait.postgres import (
    Schema,
    Steps,
    bool_array,
    bytes_array,
    float_array,
    from_text,
    int_array,
    text_array,
    to_text,
)
from plait.sql import Statements

_FIRST = b""
_LAST = b"\xff\xff"
"""Greater than every packed id."""

SQL = Statements("plait.checkpoint.postgres")
SCHEMA = Schema("plait.checkpoint.postgres", "log")

_NO_CLAIM = (None, None, None, None)


def steps_of(request: Any) -> Callable[[], Steps[Any]]:
    """Makes the steps of a request, again and again if need be."""
    return partial(_STEPS[request.__class__], request)


def _lane_row(row: tuple[Any, ...]) -> LaneRow:
    lane, thread_id, ns, *rest = row
    return LaneRow(lane, from_text(thread_id), from_text(ns), *rest)


def read_lane(request: ReadLane) -> Steps[LaneRow | None]:
    """The lane of a thread and namespace."""
    rows = yield SQL.read_lane, (to_text(request.thread_id), to_text(request.ns))
    return _lane_row(rows[0]) if rows else None


def list_lanes(request: ListLanes) -> Steps[list[LaneRow]]:
    """The lanes of one thread, or all."""
    if request.thread_id is None:
        rows = yield SQL.list_lanes, ()
    else:
        rows = yield SQL.list_lanes_of, (to_text(request.thread_id),)
    return [_lane_row(row) for row in rows]


def list_threads(request: ListThreads) -> Steps[list[LaneRow]]:
    """A page of root lanes."""
    rows = yield SQL.list_threads, (request.after, request.limit)
    return [_lane_row(row) for row in rows]


def read_checkpoints(request: ReadCheckpoints) -> Steps[list[CheckpointRow]]:
    """One checkpoint, or a range."""
    sql = SQL.read_checkpoints_down if request.newest_first else SQL.read_checkpoints
    rows = yield (
        sql,
        (
            request.lane,
            request.first if request.first is not None else _FIRST,
            request.last if request.last is not None else _LAST,
            request.before if request.before is not None else _LAST,
            request.limit,
        ),
    )
    return [CheckpointRow(*row) for row in rows]


def read_values(request: ReadValues) -> Steps[list[bytes | None]]:
    """Single versions of channels."""
    if not request.keys:
        return []
    names = text_array([_name(channel) for channel, _ in request.keys])
    keys = bytes_array([key for _, key in request.keys])
    rows = yield SQL.read_values, (request.lane, names, keys)
    return [row[0] for row in rows]


def read_versions(request: ReadVersions) -> Steps[list[ValueRow]]:
    """A range of versions of one channel."""
    first = request.first if request.first is not None else _FIRST
    last = request.last if request.last is not None else _LAST
    channel = request.channel
    rows = yield SQL.read_versions, (request.lane, _name(channel), first, last)
    return [ValueRow(channel, key, record) for key, record in rows]


def list_values(request: ListValues) -> Steps[list[tuple[str, bytes]]]:
    """Which versions a lane holds."""
    rows = yield SQL.list_values, (request.lane,)
    return [(from_text(channel), key) for channel, key in rows]


def read_writes(request: ReadWrites) -> Steps[list[WriteRow]]:
    """The task writes of one checkpoint, or of a range."""
    last = request.checkpoint if request.last is None else request.last
    rows = yield SQL.read_writes, (request.lane, request.checkpoint, last)
    return [WriteRow(row[0], row[1], from_text(row[2].decode()), row[3]) for row in rows]


def transact(request: Transact) -> Steps[Done | Refused]:
    """One commit. Its times are sent as how long from now: the server has the clock."""
    claim = request.claim
    rows = yield (
        SQL.transact,
        (
            to_text(request.thread_id),
            to_text(request.ns),
            request.seed,
            request.fence,
            *(
                (claim.owner, claim.fence, claim.lease, claim.new_lease - time())
                if claim is not None
                else _NO_CLAIM
            ),
            *_columns(_rows(request)),
            request.head,
            request.release,
            bytes_array(request.drop_checkpoints),
            text_array([_name(channel) for channel, _ in request.drop_values]),
            bytes_array([key for _, key in request.drop_values]),
        ),
    )
    return _answer(rows[0], request.thread_id)


_Row: TypeAlias = tuple[str, bytes, bytes, bytes | None, bytes]
"""(name, id, task, about, record): see `migrations/0004_records.sql`."""


def _name(channel: str) -> str:
    return "v" + to_text(channel)


def _rows(request: Transact) -> list[_Row]:
    rows: list[_Row] = [
        ("c", id, b"", parent, record) for id, parent, record in request.checkpoints
    ]
    for checkpoint, task, path, record in request.writes:
        rows.append(("w", checkpoint, task, to_text(path).encode(), record))
    for channel, id, record in request.values:
        rows.append((_name(channel), id, b"", None, record))
    return rows


def _columns(rows: Sequence[_Row]) -> list[Any]:
    """Rows as columns, each an array (NULLs for no rows)."""
    if not rows:
        return [None] * 5
    names, *others = zip(*rows, strict=True)
    return [text_array(names), *map(bytes_array, others)]


def transact_all(request: Together) -> Steps[list[Done | Refused]]:
    """Several commits in one transaction, by ascending name of their threads.

    All who lock several threads lock them in this order, so that they never wait in a circle.
    """
    requests: Sequence[Transact] = request.requests
    order = sorted(range(len(requests)), key=lambda n: to_text(requests[n].thread_id))
    sorted_ = [requests[n] for n in order]
    claims = [each.claim for each in sorted_]
    parts = [_rows(each) for each in sorted_]
    now = time()
    rows = yield (
        SQL.transact_all,
        (
            text_array([to_text(each.thread_id) for each in sorted_]),
            text_array([to_text(each.ns) for each in sorted_]),
            int_array([each.seed for each in sorted_]),
            int_array([each.fence for each in sorted_]),
            text_array([claim and claim.owner for claim in claims]),
            int_array([claim and claim.fence for claim in claims]),
            float_array([claim and claim.lease for claim in claims]),
            float_array([claim and claim.new_lease - now for claim in claims]),
            int_array([len(part) for part in parts]),
            *_columns([row for part in parts for row in part]),
            bytes_array([each.head for each in sorted_]),
            bool_array([each.release for each in sorted_]),
        ),
    )
    answers: list[Any] = [None] * len(requests)
    for place, row in zip(order, rows, strict=True):
        answers[place] = _answer(row, requests[place].thread_id)
    return answers


def may_join(request: Any) -> bool:
    """Whether a request can be done together with others."""
    return type(request) is Transact and not (request.drop_checkpoints or request.drop_values)


def drop_lane(request: DropLane) -> Steps[Done | Refused]:
    """Delete a lane and all its rows."""
    rows = yield SQL.drop_lane, (request.lane, to_text(request.thread_id), request.fence)
    return _answer(rows[0], request.thread_id)


def _answer(row: tuple[Any, ...], thread_id: str) -> Done | Refused:
    done, lane, root, *rest = row
    if done:
        return Done(lane, root if root is not None else lane)
    if root is None:
        return Refused(None)
    head, fence, owner, lease, clock = rest
    return Refused(LaneRow(root, thread_id, "", head, fence, owner, lease, clock))


def renew(request: Renew) -> Steps[None]:
    """Prolong claims, in one statement."""
    lanes = [lane for lane, _ in request.lanes]
    fences = [fence for _, fence in request.lanes]
    yield SQL.renew, (lanes, fences, request.lease - time())


_STEPS: dict[type, Callable[[Any], Steps[Any]]] = {
    ReadLane: read_lane,
    ListLanes: list_lanes,
    ListThreads: list_threads,
    ReadCheckpoints: read_checkpoints,
    ReadValues: read_values,
    ReadVersions: read_versions,
    ListValues: list_values,
    ReadWrites: read_writes,
    Transact: transact,
    Together: transact_all,
    DropLane: drop_lane,
    Renew: renew,
}
