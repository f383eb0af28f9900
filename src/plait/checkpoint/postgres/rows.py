"""The log's storage requests in SQL: each is one statement, so one round trip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

from plait.checkpoint.log.identity import lease_time
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
    Together,
    Transact,
    ValueRow,
    WriteRow,
)
from plait.checkpoint.postgres.company import Company, company_of, value_in, values_in, writes_in
from plait.common.sql import Statements
from plait.postgres import (
    Query,
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

_FIRST = b""
_LAST = b"\xff\xff"
"""Greater than every packed id."""

SQL = Statements("plait.checkpoint.postgres")
SCHEMA = Schema("plait.checkpoint.postgres", "log")

_NO_CLAIM = (None, None, None, None)


def steps_of(request: Any) -> Callable[[], Steps[Any]]:
    """Makes the steps of a request, again and again if need be."""
    return partial(_STEPS[request.__class__], request)


def lane_row(row: tuple[Any, ...]) -> LaneRow:
    """A row of `plait_lanes`, with the clock."""
    lane, thread_id, ns, *rest = row
    return LaneRow(lane, from_text(thread_id), from_text(ns), *rest)


def read_lane(request: ReadLane) -> Steps[LaneRow | None]:
    """The lane of a thread and namespace."""
    rows = yield SQL.read_lane, (to_text(request.thread_id), to_text(request.ns))
    return lane_row(rows[0]) if rows else None


def list_lanes(request: ListLanes) -> Steps[list[LaneRow]]:
    """The lanes of one thread, or all."""
    if request.thread_id is None:
        rows = yield SQL.list_lanes, ()
    else:
        rows = yield SQL.list_lanes_of, (to_text(request.thread_id),)
    return [lane_row(row) for row in rows]


def list_newest(request: ListNewest) -> Steps[list[Newest]]:
    """Lanes by their newest checkpoints."""
    before = request.before if request.before is not None else _LAST
    if request.thread_id is None:
        rows = yield SQL.list_newest, (before, request.limit)
    else:
        ns = None if request.ns is None else to_text(request.ns)
        rows = yield SQL.list_newest_of, (before, request.limit, to_text(request.thread_id), ns)
    return [Newest(id, lane, from_text(thread), from_text(ns)) for id, lane, thread, ns in rows]


def list_threads(request: ListThreads) -> Steps[list[LaneRow]]:
    """A page of root lanes."""
    rows = yield SQL.list_threads, (request.after, request.limit)
    return [lane_row(row) for row in rows]


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


def read_pages(request: ReadPages) -> Steps[list[Page]]:
    """A page of each of several lanes."""
    lanes = [lane for lane, _ in request.lanes]
    below = [_LAST if before is None else before for _, before in request.lanes]
    asked = (int_array(lanes), bytes_array(below), request.limit, request.holding)
    pages = {place: Page([], {}) for place in range(1, len(lanes) + 1)}
    rows = yield SQL.read_pages, asked
    tasks: dict[tuple[int, bytes], dict[bytes, WriteRow]] = {}
    for place, id, task, about, record, company in rows:
        written = tasks.setdefault((place, id), {})
        if task is None:
            written.update((row.task, row) for row in writes_in(company, id))
        elif task:
            written[task] = WriteRow(id, task, from_text(about.decode()), record)
        else:
            pages[place].rows.append((CheckpointRow(id, about, record), []))
            for channel, version in values_in(company or b""):
                pages[place].kept[channel, id] = version
    for place, page in pages.items():
        for row, written in page.rows:
            written += sorted(tasks[place, row.id].values(), key=_write_order)
    return [*pages.values()]


def read_head(request: ReadHead) -> Steps[Head | None]:
    """A checkpoint or the head, with its lane and task writes."""
    lane = yield from read_lane(ReadLane(request.thread_id, request.ns))
    key = request.id if lane is None or request.id is not None else lane.head
    if lane is None or key is None:
        return None
    rows = yield from read_checkpoints(ReadCheckpoints(lane.lane, key, key))
    if not rows:
        return None
    return lane.lane, rows[0], (yield from read_writes(ReadWrites(lane.lane, key)))


def read_values(request: ReadValues) -> Steps[list[bytes | None]]:
    """Single versions of channels."""
    return (yield from read_values_of(ReadValuesOf([request])))[0]


def read_values_of(request: ReadValuesOf) -> Steps[list[list[bytes | None]]]:
    """Single versions of channels of several lanes."""
    lanes = int_array([each.lane for each in request.reads for _ in each.keys])
    names = text_array([_name(channel) for each in request.reads for channel, _ in each.keys])
    keys = bytes_array([key for each in request.reads for _, key in each.keys])
    rows = iter((yield SQL.read_values, (lanes, names, keys)))
    return [[_value(channel, *next(rows)) for channel, _ in each.keys] for each in request.reads]


def _value(channel: str, kept: bytes | None, record: bytes | None) -> bytes | None:
    """A version, which may travel with its checkpoint."""
    along = value_in(kept, channel)
    return record if along is None else along


def read_versions(request: ReadVersions) -> Steps[list[ValueRow]]:
    """A range of versions of one channel."""
    first = request.first if request.first is not None else _FIRST
    last = request.last if request.last is not None else _LAST
    channel = request.channel
    told = to_text(channel)
    rows = yield SQL.read_versions, (request.lane, "v" + told, first, last, told.encode())
    found: dict[bytes, bytes] = {}
    for key, record, kept in rows:
        known = record if kept is None else value_in(kept, channel)
        if known is not None:
            found[key] = known
    return [ValueRow(channel, key, found[key]) for key in sorted(found)]


def list_values(request: ListValues) -> Steps[list[tuple[str, bytes]]]:
    """Which versions a lane holds."""
    rows = yield SQL.list_values, (request.lane,)
    return [(from_text(channel), key) for channel, key in rows]


def read_writes(request: ReadWrites) -> Steps[list[WriteRow]]:
    """The task writes of one checkpoint, or of a range."""
    last = request.checkpoint if request.last is None else request.last
    rows = yield SQL.read_writes, (request.lane, request.checkpoint, last)
    found: dict[tuple[bytes, bytes], WriteRow] = {}
    for checkpoint, task, path, record, acks in rows:
        if acks is None:
            row = WriteRow(checkpoint, task, from_text(path.decode()), record)
            found[checkpoint, task] = row
        else:
            found.update(((checkpoint, row.task), row) for row in writes_in(acks, checkpoint))
    if len(found) < 2:
        return list(found.values())
    return sorted(found.values(), key=_write_order)


def _write_order(row: WriteRow) -> tuple[bytes, str, bytes]:
    return row.checkpoint, row.path, row.task


def transact(request: Transact) -> Steps[Done | Refused]:
    """One commit. Its times are sent as how long from now: the server has the clock."""
    if len(parts := request.apart()) > 1:
        rows = yield _all([parts])
        return _answer(rows[0], request.thread_id)
    claim = request.claim
    company = company_of(request)
    if claim is None and _is_commit(request, company):
        id, parent, record = request.checkpoints[0]
        rows = yield (
            SQL.commit,
            (
                to_text(request.thread_id),
                to_text(request.ns),
                request.seed,
                request.fence,
                id,
                parent,
                record,
                company.kept,
                company.acks,
                request.head is not None,
                request.release,
            ),
        )
        return _answer(rows[0], request.thread_id)
    rows = yield (
        SQL.transact,
        (
            to_text(request.thread_id),
            to_text(request.ns),
            request.seed,
            request.fence,
            *(
                (claim.owner, claim.fence, claim.lease, claim.new_lease - lease_time())
                if claim is not None
                else _NO_CLAIM
            ),
            *_columns(_rows(request, company)),
            company.kept,
            company.acks,
            request.head,
            request.release,
            bytes_array(request.drop_checkpoints),
            text_array([_name(channel) for channel, _ in request.drop_values]),
            bytes_array([key for _, key in request.drop_values]),
        ),
    )
    return _answer(rows[0], request.thread_id)


def _is_commit(request: Transact, company: Company) -> bool:
    """Whether a transaction is a checkpoint with its company, and nothing else."""
    return (
        len(request.checkpoints) == 1
        and not (company.values or company.writes)
        and (request.head is None or request.head == request.checkpoints[0][0])
        and not (request.drop_checkpoints or request.drop_values)
    )


_Row: TypeAlias = tuple[str, bytes, bytes, bytes | None, bytes]
"""(name, id, task, about, record): see `migrations/0004_records.sql`."""


def _name(channel: str) -> str:
    return "v" + to_text(channel)


def _rows(request: Transact, company: Company) -> list[_Row]:
    rows: list[_Row] = [
        ("c", id, b"", parent, record) for id, parent, record in request.checkpoints
    ]
    for checkpoint, task, path, record in company.writes:
        rows.append(("w", checkpoint, task, to_text(path).encode(), record))
    for channel, id, record in company.values:
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
    rows = yield _all([requests[n].apart() for n in order])
    answers: list[Any] = [None] * len(requests)
    for place, row in zip(order, rows, strict=True):
        answers[place] = _answer(row, requests[place].thread_id)
    return answers


def _all(requests: Sequence[Sequence[Transact]]) -> Query:
    """What does all of these; the answer to several ordinary commits of a request is one."""
    each = [part for parts in requests for part in parts]
    claims = [part.claim for part in each]
    companies = [*map(company_of, each)]
    rows = [_rows(part, company) for part, company in zip(each, companies, strict=True)]
    now = lease_time()
    return SQL.transact_all, (
        text_array([to_text(part.thread_id) for part in each]),
        text_array([to_text(part.ns) for part in each]),
        int_array([part.seed for part in each]),
        int_array([part.fence for part in each]),
        text_array([claim and claim.owner for claim in claims]),
        int_array([claim and claim.fence for claim in claims]),
        float_array([claim and claim.lease for claim in claims]),
        float_array([claim and claim.new_lease - now for claim in claims]),
        int_array([*map(len, rows)]),
        *_columns([*chain.from_iterable(rows)]),
        bytes_array([company.kept for company in companies]),
        bytes_array([company.acks for company in companies]),
        bytes_array([part.head for part in each]),
        bool_array([part.release for part in each]),
        bool_array([n > 0 for parts in requests for n in range(len(parts))]),
    )


def may_join(request: Any) -> bool:
    """Whether a request can be done together with others."""
    if type(request) is Together:
        return all(map(may_join, request.requests))
    return type(request) is Transact and not (request.drop_checkpoints or request.drop_values)


def drop_lanes(request: DropLanes) -> Steps[Done | Refused]:
    """Delete lanes and all their rows."""
    rows = yield SQL.drop_lanes, ([*request.lanes], to_text(request.thread_id), request.fence)
    return _answer(rows[-1], request.thread_id)


def _answer(row: tuple[Any, ...], thread_id: str) -> Done | Refused:
    done, lane, root, *rest = row
    if done:
        return Done(lane, root if root is not None else lane)
    if root is None:
        return Refused(None)
    head, fence, owner, lease, clock = rest
    return Refused(LaneRow(root, thread_id, "", head, fence, owner, lease, clock))


def renew(request: Renew) -> Steps[list[tuple[int, int]]]:
    """Prolong the claims whose rows no transaction has locked; returns the others."""
    rows = yield SQL.renew, _claims(request)
    done = {lane for (lane,) in rows}
    return [claim for claim in request.lanes if claim[0] not in done]


def renew_in_turn(request: Renew) -> Steps[None]:
    """Prolong claims; inside a transaction, commits that are at work are waited for as long as
    commits take."""
    yield SQL.be_brief, ()
    yield SQL.renew_in_turn, _claims(request)


def _claims(request: Renew) -> tuple[list[int], list[int], float]:
    lanes = [lane for lane, _ in request.lanes]
    fences = [fence for _, fence in request.lanes]
    return lanes, fences, request.lease - lease_time()


_STEPS: dict[type, Callable[[Any], Steps[Any]]] = {
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
    Transact: transact,
    Together: transact_all,
    DropLanes: drop_lanes,
    Renew: renew_in_turn,
}
