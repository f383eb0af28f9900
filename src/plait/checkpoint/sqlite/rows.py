"""The log's storage requests in SQL: one function each, over an open connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

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
    Transact,
    ValueRow,
    WriteRow,
)
from plait.sqlite import Schema, Statements, fetch

_LAST = b"\xff\xff"
"""Greater than every packed id."""


SQL = Statements("plait.checkpoint.sqlite")
SCHEMA = Schema("plait.checkpoint.sqlite")


def read_lane(conn: sqlite3.Connection, request: ReadLane) -> LaneRow | None:
    """The lane of a thread and namespace."""
    return _lane(conn, request.thread_id, request.ns)


def _lane(conn: sqlite3.Connection, thread_id: str, ns: str) -> LaneRow | None:
    rows = fetch(conn, SQL.read_lane, thread_id, ns)
    return LaneRow(*rows[0]) if rows else None


def list_lanes(conn: sqlite3.Connection, request: ListLanes) -> list[LaneRow]:
    """The lanes of one thread, or all."""
    if request.thread_id is None:
        return [LaneRow(*row) for row in fetch(conn, SQL.list_lanes)]
    return [LaneRow(*row) for row in fetch(conn, SQL.list_lanes_of, request.thread_id)]


def list_threads(conn: sqlite3.Connection, request: ListThreads) -> list[LaneRow]:
    """A page of root lanes."""
    return [LaneRow(*row) for row in fetch(conn, SQL.list_threads, request.after, request.limit)]


def read_checkpoints(conn: sqlite3.Connection, request: ReadCheckpoints) -> list[CheckpointRow]:
    """One checkpoint, or a range."""
    if request.first is not None and request.first == request.last:
        rows = fetch(conn, SQL.read_checkpoint, request.lane, request.first)
    else:
        rows = fetch(
            conn,
            SQL.read_checkpoints_down if request.newest_first else SQL.read_checkpoints,
            request.lane,
            request.first if request.first is not None else b"",
            request.last if request.last is not None else _LAST,
            request.before if request.before is not None else _LAST,
            request.limit if request.limit is not None else -1,
        )
    return [CheckpointRow(*row) for row in rows]


def read_values(conn: sqlite3.Connection, request: ReadValues) -> list[bytes | None]:
    """Single versions of channels."""
    out: list[bytes | None] = []
    cursor = conn.cursor()
    cursor.row_factory = None
    sql, lane = SQL.read_value, request.lane
    for channel, key in request.keys:
        row = cursor.execute(sql, (lane, channel, key)).fetchone()
        out.append(row[0] if row is not None else None)
    return out


def read_versions(conn: sqlite3.Connection, request: ReadVersions) -> list[ValueRow]:
    """A range of versions of one channel."""
    first = request.first if request.first is not None else b""
    last = request.last if request.last is not None else _LAST
    rows = fetch(conn, SQL.read_versions, request.lane, request.channel, first, last)
    return [ValueRow(*row) for row in rows]


def list_values(conn: sqlite3.Connection, request: ListValues) -> list[tuple[str, bytes]]:
    """Which versions a lane holds."""
    return fetch(conn, SQL.list_values, request.lane)


def read_writes(conn: sqlite3.Connection, request: ReadWrites) -> list[WriteRow]:
    """The task writes of one checkpoint, or of a range."""
    last = request.checkpoint if request.last is None else request.last
    rows = fetch(conn, SQL.read_writes, request.lane, request.checkpoint, last)
    return [WriteRow(*row) for row in rows]


def transact(conn: sqlite3.Connection, request: Transact) -> Done | Refused:
    """The body of one commit, inside a transaction."""
    if request.head is not None and request.ns == "" and request.claim is None:
        lane = _step(conn, request)
        if lane is not None:
            return Done(lane, lane)
    root = _lane(conn, request.thread_id, "")
    if request.fence is not None and (root is None or root.fence != request.fence):
        return Refused(root)
    claim = request.claim
    if root is None and claim is not None and claim.fence != request.seed:
        return Refused(None)  # what the claimer saw was deleted meanwhile
    number = (
        root.lane if root is not None else _make_lane(conn, request.thread_id, "", request.seed)
    )
    if claim is not None:
        seen = (number, claim.owner, claim.new_lease, claim.fence, claim.lease)
        if conn.execute(SQL.claim, seen).rowcount != 1:
            return Refused(root)
    lane = number
    if request.ns != "":
        lane = _find_or_make_lane(conn, request.thread_id, request.ns)
    if request.drop_checkpoints or request.drop_values:
        _drop(conn, lane, request)
    _put(conn, lane, request)
    if request.release:
        conn.execute(SQL.release, (number,))
    return Done(lane, number)


def _step(conn: sqlite3.Connection, request: Transact) -> int | None:
    """The ordinary commit: its fence is checked where the head moves. None: it is not the one."""
    move = (request.thread_id, request.fence, request.head, request.release)
    rows = fetch(conn, SQL.move_head_fenced, *move)
    if not rows:
        return None
    lane: int = rows[0][0]
    if request.drop_checkpoints or request.drop_values:
        _drop(conn, lane, request)
    _put_rows(conn, lane, request)
    return lane


def _make_lane(conn: sqlite3.Connection, thread_id: str, ns: str, fence: int = 0) -> int:
    conn.execute(SQL.make_lane, (thread_id, ns, fence))
    row = _lane(conn, thread_id, ns)
    assert row is not None, "inserted in this transaction"
    return row.lane


def _find_or_make_lane(conn: sqlite3.Connection, thread_id: str, ns: str) -> int:
    row = _lane(conn, thread_id, ns)
    return row.lane if row is not None else _make_lane(conn, thread_id, ns)


def _put(conn: sqlite3.Connection, lane: int, request: Transact) -> None:
    _put_rows(conn, lane, request)
    if request.head is not None:
        conn.execute(SQL.move_head, (lane, request.head))


def _put_rows(conn: sqlite3.Connection, lane: int, request: Transact) -> None:
    execute = conn.cursor().execute
    for row in request.checkpoints:
        execute(SQL.put_checkpoint, (lane, *row))
    for row in request.values:
        execute(SQL.put_version, (lane, *row))
    for row in request.writes:
        execute(SQL.put_write, (lane, *row))


def _drop(conn: sqlite3.Connection, lane: int, request: Transact) -> None:
    checkpoints = [(lane, key) for key in request.drop_checkpoints]
    conn.executemany(SQL.drop_checkpoint, checkpoints)
    conn.executemany(SQL.drop_writes, checkpoints)
    conn.executemany(SQL.drop_version, [(lane, *key) for key in request.drop_values])


def drop_lane(conn: sqlite3.Connection, request: DropLane) -> Done | Refused:
    """Delete a lane and all its rows, inside a transaction."""
    root = _lane(conn, request.thread_id, "")
    if request.fence is not None and (root is None or root.fence != request.fence):
        return Refused(root)
    lane = (request.lane,)
    for sql in (SQL.drop_lane_checkpoints, SQL.drop_lane_versions, SQL.drop_lane_writes):
        conn.execute(sql, lane)
    conn.execute(SQL.drop_lane, lane)
    return Done(request.lane, root.lane if root is not None else request.lane)


def renew(conn: sqlite3.Connection, request: Renew) -> None:
    """Prolong claims, in one statement."""
    conn.execute(SQL.renew, (json.dumps(list(request.lanes)), request.lease))


READS: dict[type, Callable[[sqlite3.Connection, Any], Any]] = {
    ReadLane: read_lane,
    ListLanes: list_lanes,
    ListThreads: list_threads,
    ReadCheckpoints: read_checkpoints,
    ReadValues: read_values,
    ReadVersions: read_versions,
    ListValues: list_values,
    ReadWrites: read_writes,
}
WRITES: dict[type, Callable[[sqlite3.Connection, Any], Any]] = {
    Transact: transact,
    DropLane: drop_lane,
    Renew: renew,
}
ANY = {**READS, **WRITES}
"""In company: a read is answered when what it may have seen is committed."""
