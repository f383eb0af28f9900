"""One statement with values, sent to the server without a cursor: half of a commit's CPU time.

A cursor finds out about each value and each column anew. What our statements send and give back is
of few types, so it is packed and unpacked here by a table; a value that is not in the table leaves
its statement to a cursor (`packed` gives None), a column that is not goes to psycopg's own loader.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from operator import attrgetter
from struct import Struct
from typing import Any, TypeAlias

from psycopg import AsyncConnection, Connection, errors
from psycopg.pq import ExecStatus, Format, PipelineStatus

from plait.postgres.arrays import MOST, OIDS, too_large

try:
    from psycopg.generators import execute as _fetch
except ImportError:  # not in psycopg's documentation: without it, cursors do the work
    _fetch = None

_INT, _FLOAT, _INT4 = Struct("!q"), Struct("!d"), Struct("!i")
_TRUE, _FALSE = b"\1", b"\0"
_BINARY = Format.BINARY

_PACK: dict[type, tuple[int, Callable[[Any], bytes | None]]] = {
    type(None): (0, lambda value: value),
    str: (25, str.encode),
    bytes: (17, bytes),
    int: (20, _INT.pack),
    float: (701, _FLOAT.pack),
    bool: (16, lambda value: _TRUE if value else _FALSE),
    **{kind: (oid, attrgetter("data")) for kind, oid in OIDS.items()},
}
"""By type: the type of the server's, and how it is written in binary form."""

_UNPACK: dict[int, Callable[[bytes], Any]] = {
    16: lambda data: data == _TRUE,
    17: bytes,
    20: lambda data: _INT.unpack(data)[0],
    23: lambda data: _INT4.unpack(data)[0],
    25: bytes.decode,
    701: lambda data: _FLOAT.unpack(data)[0],
}

Packed: TypeAlias = tuple[list[bytes | None], list[int]]
"""The values in binary form, and their types."""


def packed(conn: Connection[Any] | AsyncConnection[Any], values: Sequence[Any]) -> Packed | None:
    """Values in binary form; None: they are for a cursor.

    Raises:
        psycopg.Error: They are more than the server takes.
    """
    pgconn = conn.pgconn
    if _fetch is None or pgconn.pipeline_status != PipelineStatus.OFF:
        return None
    try:
        known = [_PACK[value.__class__] for value in values]
    except KeyError:
        return None
    data = [pack(value) for (_, pack), value in zip(known, values, strict=True)]
    if (size := sum([len(each) for each in data if each])) > MOST:
        raise too_large(size)
    return data, [oid for oid, _ in known]


def query(
    conn: Connection[Any] | AsyncConnection[Any], sql: str, values: Packed
) -> Generator[Any, Any, list[tuple[Any, ...]]]:
    """The rows of a statement, for the connection's `wait`.

    Raises:
        psycopg.Error: The server refused it, or the connection broke.
    """
    assert _fetch is not None
    data, types = values
    pgconn = conn.pgconn
    pgconn.send_query_params(_encoded(sql), data, types, [_BINARY] * len(data), _BINARY)
    result = (yield from _fetch(pgconn))[-1]
    if result.status == ExecStatus.COMMAND_OK:
        return []
    if result.status != ExecStatus.TUPLES_OK:
        raise errors.error_from_result(result)
    kind, known, value = result.ftype, _UNPACK.get, result.get_value
    columns = [(n, known(kind(n)) or _loader(conn, kind(n))) for n in range(result.nfields)]
    return [
        tuple([None if (data := value(row, n)) is None else load(data) for n, load in columns])
        for row in range(result.ntuples)
    ]


@lru_cache(maxsize=256)  # statements are constant
def _encoded(sql: str) -> bytes:
    return sql.encode()


def _loader(conn: Connection[Any] | AsyncConnection[Any], oid: int) -> Callable[[bytes], Any]:
    kind = conn.adapters.get_loader(oid, Format.BINARY) or conn.adapters.get_loader(
        0, Format.BINARY
    )
    assert kind is not None
    return kind(oid, conn).load
