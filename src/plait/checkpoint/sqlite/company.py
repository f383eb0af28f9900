"""What travels with a checkpoint in its own row (see `migrations/0002_company.sql`).

An ordinary commit comes after all that its lane holds. Its small versions, and what tasks of the
checkpoint before wrote, are packed into its row. Whoever changes one of these, or puts a checkpoint
between the two, first splits the row into the three tables, where all else lies.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import ormsgpack

from plait.checkpoint.log.records import is_list
from plait.checkpoint.log.requests import Transact, WriteRow
from plait.common.sql import Statements
from plait.engine.records import new_tuple
from plait.errors import CorruptCheckpointError
from plait.sqlite import fetch

SQL = Statements("plait.checkpoint.sqlite")
_SMALL = 512
"""Bytes that records may have to travel with a checkpoint. Bigger ones would leave pages half
empty, and would be read and written again with a row of which something else is wanted."""


class Commit(NamedTuple):
    """An ordinary commit: the row of its checkpoint, and what does not travel with it."""

    row: tuple[bytearray, bytearray | None, bytearray, bytearray | None, bytearray | None]
    """(id, parent, record, kept, acks). The sqlite3 module looks in several places for an adapter
    of every `bytes`; a bytearray it takes as it is."""
    values: Sequence[tuple[str, bytes, Any]]
    writes: Sequence[tuple[bytes, bytes, str, Any]]


def commit_of(request: Transact) -> Commit | None:
    """A transaction as an ordinary commit of a run that goes on, if it may be one."""
    if len(request.checkpoints) != 1 or request.drop_checkpoints or request.drop_values:
        return None
    id, parent, record = request.checkpoints[0]
    values, writes = request.values, request.writes
    if request.head != id or (parent is not None and parent >= id):
        return None
    kept: list[Any] = []
    for channel, key, version in values:
        if key != id:
            return None
        kept += (channel, version)
    acks: list[Any] = []
    for checkpoint, task, path, written in writes:
        if checkpoint != parent:
            return None
        acks += (task, path, written)
    beside, before = _small(kept), _small(acks)
    before_id = None if parent is None else bytearray(parent)
    row = bytearray(id), before_id, bytearray(record), beside, before
    return new_tuple(Commit, (row, () if beside else values, () if before else writes))


def commits_of(request: Transact) -> list[Commit]:
    """A transaction as several ordinary commits, one after the other; none if it is not that."""
    parts = request.apart()
    commits = [*filter(None, map(commit_of, parts))] if len(parts) > 1 else []
    return commits if len(commits) == len(parts) else []


def _small(pieces: list[Any]) -> bytearray | None:
    """The pieces of rows in one, if they are small (and any)."""
    if not pieces or len(pieces[-1]) > _SMALL:
        return None
    try:
        packed = ormsgpack.packb(pieces)
    except TypeError:  # a name that msgpack has no form for
        return None
    return bytearray(packed) if len(packed) <= _SMALL else None


def values_in(kept: bytes) -> Iterator[tuple[str, bytes]]:
    """(channel, record) of the versions in a row. Raises CorruptCheckpointError."""
    return values_of(unpacked([kept])[0])


def writes_in(acks: bytes, parent: bytes) -> list[WriteRow]:
    """The task writes in a row of which this is the parent. Raises CorruptCheckpointError."""
    return writes_of(unpacked([acks])[0], parent)


def unpacked(packed: Sequence[bytes]) -> list[Any]:
    """What was packed into rows, to be told by `values_of` or `writes_of`: of many at once."""
    count = len(packed).to_bytes(4, "big")
    try:
        return ormsgpack.unpackb(b"".join((b"\xdd", count, *packed)))
    except (ValueError, TypeError) as error:  # of which one is no bytes
        raise _damaged() from error


def values_of(pieces: list[Any]) -> Iterator[tuple[str, bytes]]:
    """(channel, record) of versions, unpacked. Raises CorruptCheckpointError."""
    _check(pieces, _VERSION)
    return zip(pieces[::2], pieces[1::2], strict=True)


def writes_of(pieces: list[Any], parent: bytes) -> list[WriteRow]:
    """The writes of a checkpoint's tasks, unpacked. Raises CorruptCheckpointError."""
    _check(pieces, _WRITE)
    if len(pieces) == 3:
        return [new_tuple(WriteRow, (parent, *pieces))]
    rows = zip(repeat(parent), pieces[::3], pieces[1::3], pieces[2::3], strict=False)
    return [new_tuple(WriteRow, row) for row in rows]


_VERSION = [str, bytes]
_WRITE = [bytes, str, bytes]


def _check(pieces: Any, kinds: list[type]) -> None:
    if not is_list(pieces) or [*map(type, pieces)] != kinds * (len(pieces) // len(kinds)):
        raise _damaged()


def _damaged() -> CorruptCheckpointError:
    return CorruptCheckpointError(
        "A row of stored checkpoints is damaged: what was packed into it cannot be read. Restore "
        "the database from a backup."
    )


def split(conn: sqlite3.Connection, lane: int, id: bytes) -> None:
    """Put what travels with a checkpoint into the tables."""
    for row in fetch(conn, SQL.read_company, lane, id):
        _split(conn, lane, *row)


def split_after(conn: sqlite3.Connection, lane: int, id: bytes) -> None:
    """The same of the checkpoint that comes after an id: it may hold the acks of that one."""
    for row in fetch(conn, SQL.read_company_after, lane, id):
        _split(conn, lane, *row)


def _split(
    conn: sqlite3.Connection,
    lane: int,
    id: bytes,
    parent: bytes | None,
    kept: bytes | None,
    acks: bytes | None,
) -> None:
    if kept is None and acks is None:
        return
    if kept is not None:
        rows = [(lane, channel, id, record) for channel, record in values_in(kept)]
        conn.executemany(SQL.put_version, rows)
    if acks is not None:
        conn.executemany(SQL.put_write, [(lane, *row) for row in writes_in(acks, parent or b"")])
    conn.execute(SQL.drop_company, (lane, id))
