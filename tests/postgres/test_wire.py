"""Statements without a cursor give what a cursor gives, and leave to it what they cannot."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import RawCursor
from psycopg.types.json import Jsonb

from plait.checkpoint.postgres.rows import SCHEMA
from plait.errors import StorageError, StorageUnavailableError
from plait.postgres import (
    Database,
    Steps,
    bool_array,
    bytes_array,
    float_array,
    int_array,
    text_array,
)
from plait.postgres.wire import packed, query

CASES: list[tuple[str, list[Any]]] = [
    ("SELECT $1::text, $2::bytea, $3::bigint, $4::float8, $5::boolean",
     ["a\u20ac", b"\0\xff", -5, 0.1, True]),
    ("SELECT $1::text, $2::bigint, $3::boolean", [None, 1 << 62, False]),
    ("SELECT * FROM unnest($1::bytea[], $2::text[])",
     [bytes_array([b"a", None, b""]), text_array(["x", None, ""])]),
    ("SELECT * FROM unnest($1::bigint[], $2::float8[], $3::boolean[])",
     [int_array([1, None]), float_array([None, 2.5]), bool_array([True, False])]),
    ("SELECT $1::integer, $1::smallint, $1::numeric", [7]),
    ("SELECT now() > $1::text::timestamptz, '{1,2}'::real[], '{\"a\": [1]}'::jsonb",
     ["2020-01-01"]),
    ("SELECT 1 WHERE $1::boolean", [False]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "values"), CASES)
def test_rows_are_those_of_a_cursor(postgres_url: str, sql: str, values: list[Any]) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        sent = packed(conn, values)
        assert sent is not None
        expected = RawCursor(conn).execute(sql.encode(), values, binary=True).fetchall()
        assert conn.wait(query(conn, sql, sent)) == expected


def test_errors_are_those_of_a_cursor_and_the_connection_goes_on(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        sent = packed(conn, [0])
        assert sent is not None
        with pytest.raises(psycopg.errors.DivisionByZero):
            conn.wait(query(conn, "SELECT 1 / $1::bigint", sent))
        assert conn.wait(query(conn, "SELECT $1::bigint", sent)) == [(0,)]


def test_values_of_other_types_are_for_a_cursor(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        assert packed(conn, [1, Jsonb({})]) is None
        with conn.pipeline():
            assert packed(conn, [1]) is None


@pytest.mark.parametrize(
    "values",
    [
        [bytes(600_000_000), bytes(600_000_000)],
        [bytes_array([b"small"]), bytes(1_100_000_000)],
    ],
)
def test_more_than_the_server_takes_is_a_named_error_and_cuts_no_connection(
    postgres_url: str, values: list[Any]
) -> None:
    def steps() -> Steps[None]:
        yield "SELECT octet_length($1::bytea), octet_length($2::bytea)", values

    def ask() -> Steps[int]:
        return (yield "SELECT pg_backend_pid()", ())[0][0]

    database = Database(postgres_url, SCHEMA)
    before = database.run(ask)
    with pytest.raises(StorageError, match=r"1,\d00,000,\d+ bytes.*1 GB") as caught:
        database.run(steps)
    assert not isinstance(caught.value, StorageUnavailableError)
    assert database.run(ask) == before
    database.close()


def test_an_array_of_more_than_the_server_takes_is_a_named_error() -> None:
    with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="2,147,483,648 bytes"):
        bytes_array([bytes(1 << 31)])
