"""The log's storage requests in SQL: one function each, over an open connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from plait.checkpoint.log.requests import (
    CheckpointRow,
    Done,
    DropLanes,
    Head,
    LaneRow,
    ListLanes,
    ListNewest,
    ListThreads,
    ListValues,
    Newest,
    Page,
    ReadCheckpoints,
    ReadHead,
    ReadLane,
    ReadPages,
    ReadValues,
    ReadValuesOf,
    ReadVersions,
    ReadWrites,
    Refused,
    Renew,
    Transact,
    ValueRow,
    WriteRow,
)
from plait.checkpoint.sqlite.company import (
    SQL,
    Commit,
    commit_of,
    commits_of,
    split,
    split_after,
    unpacked,
    values_in,
    values_of,
    writes_in,
    writes_of,
)
from plait.engine.records import new_tuple
from plait.sqlite import Schema, fetch, in_transaction

T = TypeVar("T")
_LAST = b"\xff\xff"
"""Greater than every packed id."""
_ORDER = itemgetter(*map(WriteRow._fields.index, ("checkpoint", "path", "task")))

SCHEMA = Schema("plait.checkpoint.sqlite")

_PageRow: TypeAlias = "tuple[bytes, bytes | None, bytes, bytes | None, bytes | None, int]"
"""id, parent, record, kept, acks, whether there may be writes beside it."""


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


def list_newest(conn: sqlite3.Connection, request: ListNewest) -> list[Newest]:
    """Lanes by their newest checkpoints."""
    before = request.before if request.before is not None else _LAST
    limit = request.limit if request.limit is not None else -1
    if request.thread_id is None:
        rows = fetch(conn, SQL.list_newest, before, limit)
    elif request.ns is not None:
        rows = fetch(conn, SQL.list_newest_in, before, limit, request.thread_id, request.ns)
    else:
        rows = fetch(conn, SQL.list_newest_of, before, limit, request.thread_id)
    return [Newest(*row) for row in rows if row[0] is not None]


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


def read_pages(conn: sqlite3.Connection, request: ReadPages) -> list[Page]:
    """A page of each of several lanes."""

    def read(conn: sqlite3.Connection) -> list[Page]:
        cursor = _plain_cursor(conn)
        found = [_page_rows(cursor, lane, before, request) for lane, before in request.lanes]
        packed = [each for rows in found for row in rows for each in row[3:5] if each is not None]
        company = iter(unpacked(packed))
        return [
            _page(conn, lane, rows, company, apart=request.holding is not None)
            for (lane, _), rows in zip(request.lanes, found, strict=True)
        ]

    return _together(conn, read, len(request.lanes))


def _together(conn: sqlite3.Connection, read: Callable[[sqlite3.Connection], T], lanes: int) -> T:
    """Read of several lanes in one transaction: or each query would be one of its own."""
    if lanes == 1 or conn.in_transaction:
        return read(conn)
    return in_transaction(conn, read, "BEGIN")


def _plain_cursor(conn: sqlite3.Connection) -> sqlite3.Cursor:
    """A cursor whose rows are tuples."""
    cursor = conn.cursor()
    cursor.row_factory = None
    return cursor


def _page_rows(
    cursor: sqlite3.Cursor, lane: int, before: bytes | None, request: ReadPages
) -> list[_PageRow]:
    """The rows of a page, each with the acks of its own."""
    below = before if before is not None else _LAST
    where = (lane, below, request.limit)
    if request.holding is not None:
        return cursor.execute(SQL.read_page_holding, (*where, request.holding)).fetchall()
    found = cursor.execute(SQL.read_page, where).fetchall()
    acks = [row[4] for row in found]
    if found and found[0][0] >= below:  # the one after: its acks are those of the first
        del found[0]
    else:
        acks.insert(0, None)
    del found[request.limit :]
    return [(*row[:4], packed, row[5]) for row, packed in zip(found, acks, strict=False)]


def _page(
    conn: sqlite3.Connection,
    lane: int,
    rows: Sequence[_PageRow],
    company: Iterator[Any],
    *,
    apart: bool,
) -> Page:
    """The page of these rows. `company`: what was packed into them, and comes next."""
    page = Page([], {})
    beside: dict[bytes, list[WriteRow]] = {}
    for id, parent, record, kept, acks, has_writes in rows:
        if kept is not None:
            for channel, version in values_of(next(company)):
                page.kept[channel, id] = version
        tasks = writes_of(next(company), id) if acks is not None else []
        if len(tasks) > 1:
            tasks.sort(key=_ORDER)
        if has_writes:
            beside[id] = tasks
        page.rows.append((new_tuple(CheckpointRow, (id, parent, record)), tasks))
    if beside:
        _add_beside(conn, lane, beside, apart=apart)
    return page


def _add_beside(
    conn: sqlite3.Connection, lane: int, tasks: dict[bytes, list[WriteRow]], *, apart: bool
) -> None:
    """Add to what tasks of checkpoints wrote that which has rows of its own. `apart`: others, that
    nobody asks for, lie between the checkpoints."""
    spans = [(id, id) for id in tasks] if apart else [(min(tasks), max(tasks))]
    stored: dict[bytes, list[WriteRow]] = {}
    for first, last in spans:
        for row in fetch(conn, SQL.read_writes, lane, first, last):
            stored.setdefault(row[0], []).append(WriteRow(*row))
    for id, rows in stored.items():
        if id in tasks:  # else it is of a checkpoint that was deleted
            tasks[id][:] = _merged([*rows, *tasks[id]])


def read_head(conn: sqlite3.Connection, request: ReadHead) -> Head | None:
    """A checkpoint or the head, with its lane and task writes."""
    if request.id is None:
        rows = fetch(conn, SQL.read_head, request.thread_id, request.ns)
    else:
        rows = fetch(conn, SQL.read_head_at, request.thread_id, request.ns, request.id)
    if not rows:
        return None
    lane, id, parent, record, written = rows[0]
    checkpoint = new_tuple(CheckpointRow, (id, parent, record))
    return lane, checkpoint, read_writes(conn, ReadWrites(lane, id)) if written else []


def read_values(conn: sqlite3.Connection, request: ReadValues) -> list[bytes | None]:
    """Single versions of channels."""
    return _values(_plain_cursor(conn), request)


def _values(cursor: sqlite3.Cursor, request: ReadValues) -> list[bytes | None]:
    out: list[bytes | None] = []
    sql, lane = SQL.read_value, request.lane
    commits: dict[bytes, dict[str, bytes]] = {}
    for channel, key in request.keys:
        record = commits[key].get(channel) if key in commits else None
        if record is None:
            kept, record = cursor.execute(sql, (lane, channel, key)).fetchone()
            if kept is not None:
                commits[key] = values = dict(values_in(kept))
                record = values.get(channel, record)
        out.append(record)
    return out


def read_values_of(conn: sqlite3.Connection, request: ReadValuesOf) -> list[list[bytes | None]]:
    """Single versions of channels of several lanes."""
    cursor, reads = _plain_cursor(conn), request.reads
    return _together(conn, lambda _: [_values(cursor, each) for each in reads], len(reads))


def read_versions(conn: sqlite3.Connection, request: ReadVersions) -> list[ValueRow]:
    """A range of versions of one channel."""
    first = request.first if request.first is not None else b""
    last = request.last if request.last is not None else _LAST
    channel = request.channel
    rows = dict(fetch(conn, SQL.read_versions, request.lane, channel, first, last))
    alone = len(rows)
    for key, kept in fetch(conn, SQL.read_kept, request.lane, first, last):
        for name, record in values_in(kept):
            if name == channel:
                rows[key] = record
    keys = rows if len(rows) == alone else sorted(rows)
    return [ValueRow(channel, key, rows[key]) for key in keys]


def list_values(conn: sqlite3.Connection, request: ListValues) -> list[tuple[str, bytes]]:
    """Which versions a lane holds."""
    found = set(fetch(conn, SQL.list_values, request.lane))
    for key, kept in fetch(conn, SQL.read_kept, request.lane, b"", _LAST):
        found.update((channel, key) for channel, _ in values_in(kept))
    return sorted(found)


def read_writes(conn: sqlite3.Connection, request: ReadWrites) -> list[WriteRow]:
    """The task writes of one checkpoint, or of a range."""
    first, last = request.checkpoint, request.last
    last = first if last is None else last
    rows = [WriteRow(*row) for row in fetch(conn, SQL.read_writes, request.lane, first, last)]
    acks = fetch(conn, SQL.read_acks, request.lane, first, last)
    if not acks:
        return rows
    for parent, packed in acks:
        rows += writes_in(packed, parent)
    return _merged(rows)


def _merged(rows: Sequence[WriteRow]) -> list[WriteRow]:
    """Task writes in order; of one task the last."""
    return sorted({(row[0], row[1]): row for row in rows}.values(), key=_ORDER)


def transact(conn: sqlite3.Connection, request: Transact) -> Done | Refused:
    """The body of one commit, inside a transaction."""
    return _transact(conn, request, commit_of(request))


def transact_alone(conn: sqlite3.Connection, request: Transact) -> Done | Refused:
    """One commit, in a transaction of its own: an ordinary one is a single statement."""
    commit = commit_of(request)
    if (
        commit is not None
        and not (commit.values or commit.writes or request.release)
        and conn.isolation_level is None
        and not conn.in_transaction  # a connection that was given may be in one
        and (done := _go_on(conn, request, commit)) is not None
    ):
        return done
    return in_transaction(conn, lambda conn: _transact(conn, request, commit))


def _go_on(conn: sqlite3.Connection, request: Transact, commit: Commit) -> Done | None:
    """Do a commit that is one of many of its run. None: it is not the next one of its lane."""
    lane = request.root
    if lane is None or request.fence is None or request.ns != "":
        return None
    values = (lane, *commit.row, request.thread_id, request.fence)
    return new_tuple(Done, (lane, lane)) if conn.execute(SQL.append, values).rowcount else None


def _transact(conn: sqlite3.Connection, request: Transact, commit: Commit | None) -> Done | Refused:
    done = None if commit is None else _go_on(conn, request, commit)
    if commit is not None and done is not None:
        _put_beside(conn, done.lane, commit.values, commit.writes)
        if request.release:
            conn.execute(SQL.release, (done.root,))
        return done
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
    commits = commits_of(request) if commit is None else [commit]
    if not (commits and all(_appended(conn, lane, each) for each in commits)):
        _put(conn, lane, request)
    if request.release:
        conn.execute(SQL.release, (number,))
    return Done(lane, number)


def _appended(conn: sqlite3.Connection, lane: int, commit: Commit) -> bool:
    """Store a commit that comes after all that its lane holds. False: it does not."""
    if not conn.execute(SQL.append, (lane, *commit.row, None, None)).rowcount:
        return False
    _put_beside(conn, lane, commit.values, commit.writes)
    return True


def _make_lane(conn: sqlite3.Connection, thread_id: str, ns: str, fence: int = 0) -> int:
    conn.execute(SQL.make_lane, (thread_id, ns, fence))
    row = _lane(conn, thread_id, ns)
    assert row is not None, "inserted in this transaction"
    return row.lane


def _find_or_make_lane(conn: sqlite3.Connection, thread_id: str, ns: str) -> int:
    row = _lane(conn, thread_id, ns)
    return row.lane if row is not None else _make_lane(conn, thread_id, ns)


def _put(conn: sqlite3.Connection, lane: int, request: Transact) -> None:
    """Drop and store rows, whatever is stored of the lane; the head moves only if it is told to."""
    conn.execute(SQL.pin_head, (lane,))
    if request.drop_checkpoints or request.drop_values:
        _drop(conn, lane, request)
    for id, parent, record in request.checkpoints:
        split(conn, lane, id)
        split_after(conn, lane, id)
        conn.execute(SQL.put_checkpoint, (lane, id, parent, record))
    for id in {id for _, id, _ in request.values}:
        split(conn, lane, id)
    for checkpoint in {row[0] for row in request.writes}:
        split_after(conn, lane, checkpoint)
    _put_beside(conn, lane, request.values, request.writes)
    if request.head is not None:
        conn.execute(SQL.move_head, (lane, request.head))
    conn.execute(SQL.free_head, (lane,))


def _put_beside(
    conn: sqlite3.Connection,
    lane: int,
    values: Sequence[tuple[str, bytes, Any]],
    writes: Sequence[tuple[bytes, bytes, str, Any]],
) -> None:
    """Store what has rows of its own."""
    for row in values:
        conn.execute(SQL.put_version, (lane, *row))
    for row in writes:
        conn.execute(SQL.put_write, (lane, *row))


def _drop(conn: sqlite3.Connection, lane: int, request: Transact) -> None:
    for key in request.drop_checkpoints:
        split(conn, lane, key)
        split_after(conn, lane, key)
    for _, key in request.drop_values:
        split(conn, lane, key)
    checkpoints = [(lane, key) for key in request.drop_checkpoints]
    conn.executemany(SQL.drop_checkpoint, checkpoints)
    conn.executemany(SQL.drop_writes, checkpoints)
    conn.executemany(SQL.drop_version, [(lane, *key) for key in request.drop_values])


def drop_lanes(conn: sqlite3.Connection, request: DropLanes) -> Done | Refused:
    """Delete lanes and all their rows, inside a transaction."""
    root = _lane(conn, request.thread_id, "")
    if request.fence is not None and (root is None or root.fence != request.fence):
        return Refused(root)
    lanes = [(lane,) for lane in request.lanes]
    for sql in (SQL.drop_lane_checkpoints, SQL.drop_lane_versions, SQL.drop_lane_writes):
        conn.executemany(sql, lanes)
    conn.executemany(SQL.drop_lane, lanes)
    last = request.lanes[-1]
    return Done(last, root.lane if root is not None else last)


def renew(conn: sqlite3.Connection, request: Renew) -> None:
    """Prolong claims, in one statement."""
    conn.execute(SQL.renew, (json.dumps(list(request.lanes)), request.lease))


READS: dict[type, Callable[[sqlite3.Connection, Any], Any]] = {
    ReadLane: read_lane,
    ReadHead: read_head,
    ListLanes: list_lanes,
    ListNewest: list_newest,
    ListThreads: list_threads,
    ReadCheckpoints: read_checkpoints,
    ReadPages: read_pages,
    ReadValues: read_values,
    ReadValuesOf: read_values_of,
    ReadVersions: read_versions,
    ListValues: list_values,
    ReadWrites: read_writes,
}
WRITES: dict[type, Callable[[sqlite3.Connection, Any], Any]] = {
    Transact: transact,
    DropLanes: drop_lanes,
    Renew: renew,
}
ANY = {**READS, **WRITES}
"""In company: a read is answered when what it may have seen is committed."""
