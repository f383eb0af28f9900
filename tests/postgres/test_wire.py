"""Statements without a cursor give what a cursor gives, and leave to it what they cannot."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import RawCursor
from psycopg.types.json import Jsonb

from plait.postgres import bool_array, bytes_array, float_array, int_array, text_array
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
