"""SQL as steps: a generator asks for statements, a tiny sync or async executor runs them.

So each operation is written once. Statements go to the server unprepared and in binary form, with
`$1` placeholders; nothing is kept in a session, so a transaction pooler may stand in between.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeAlias, TypeVar

from psycopg import AsyncConnection, AsyncRawCursor, Connection, RawCursor
from psycopg.rows import tuple_row

from plait.postgres.wire import packed, query

T = TypeVar("T")

Query: TypeAlias = tuple[str, Sequence[Any]]
"""A statement and its values."""
Steps: TypeAlias = Generator[Query, list[tuple[Any, ...]], T]
"""Yields statements, is sent their rows, returns a result."""


def run_steps(conn: Connection[Any], steps: Steps[T], together: bool) -> T:
    """Run steps on a connection; `together`: in one transaction."""
    if together or not conn.autocommit:
        with conn.transaction():
            return _run(conn, steps)
    return _run(conn, steps)


def _run(conn: Connection[Any], steps: Steps[T]) -> T:
    try:
        sql, values = next(steps)
        while True:
            sent = packed(conn, values) if values else None
            if sent is not None:
                with conn.lock:
                    rows = conn.wait(query(conn, sql, sent))
            else:
                rows = _by_cursor(conn, sql, values)
            sql, values = steps.send(rows)
    except StopIteration as stop:
        return stop.value


def _by_cursor(conn: Connection[Any], sql: str, values: Sequence[Any]) -> list[Any]:
    cursor = RawCursor(conn, row_factory=tuple_row)
    cursor.execute(sql.encode(), values or None, prepare=False, binary=bool(values))
    return cursor.fetchall() if cursor.description else []


async def arun_steps(conn: AsyncConnection[Any], steps: Steps[T], together: bool) -> T:
    """Run steps on a connection without blocking the event loop; else like `run_steps`."""
    if together or not conn.autocommit:
        async with conn.transaction():
            return await _arun(conn, steps)
    return await _arun(conn, steps)


async def _arun(conn: AsyncConnection[Any], steps: Steps[T]) -> T:
    try:
        sql, values = next(steps)
        while True:
            sent = packed(conn, values) if values else None
            if sent is not None:
                async with conn.lock:
                    rows = await conn.wait(query(conn, sql, sent))
            else:
                rows = await _aby_cursor(conn, sql, values)
            sql, values = steps.send(rows)
    except StopIteration as stop:
        return stop.value


async def _aby_cursor(conn: AsyncConnection[Any], sql: str, values: Sequence[Any]) -> list[Any]:
    cursor = AsyncRawCursor(conn, row_factory=tuple_row)
    await cursor.execute(sql.encode(), values or None, prepare=False, binary=bool(values))
    return await cursor.fetchall() if cursor.description else []


_ESCAPE = "\x1b"


def to_text(text: str) -> str:
    """A text as Postgres can store it: it knows no NUL, so that is written as an escape.

    >>> to_text("plain"), from_text(to_text("a\\0b"))
    ('plain', 'a\\x00b')
    """
    if "\0" in text or _ESCAPE in text:
        return text.replace(_ESCAPE, _ESCAPE + "1").replace("\0", _ESCAPE + "0")
    return text


def from_text(text: str) -> str:
    """The text behind what `to_text` made."""
    if _ESCAPE in text:
        return text.replace(_ESCAPE + "0", "\0").replace(_ESCAPE + "1", _ESCAPE)
    return text
