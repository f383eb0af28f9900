"""A database of an earlier schema is brought up to date, and its threads go on."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from tests.durability.graphs import CONFIG, adder, chain

from plait.checkpoint.postgres import PostgresSaver
from plait.common.sql import Statements, migrations
from plait.types import Command, interrupt

from .server import Server

_VERSIONS = Statements("plait.postgres", "versions.sql")
_LANES = """
INSERT INTO {old}.plait_lanes OVERRIDING SYSTEM VALUE SELECT * FROM {new}.plait_lanes;
"""
_THREE_TABLES = """
INSERT INTO {old}.plait_checkpoints
SELECT lane, id, about, record FROM {new}.plait_records WHERE name = 'c';
INSERT INTO {old}.plait_writes
SELECT lane, id, task, convert_from(about, 'UTF8'), record FROM {new}.plait_records
WHERE name = 'w';
INSERT INTO {old}.plait_versions
SELECT lane, substr(name, 2), id, record FROM {new}.plait_records WHERE name LIKE 'v%';
"""
_ROWS_ALONE = """
INSERT INTO {old}.plait_records
SELECT lane, name, id, task, about, record FROM {new}.plait_records;
"""
_AS_THEY_ARE = """
INSERT INTO {old}.plait_records
SELECT lane, name, id, task, about, record, kept, acks FROM {new}.plait_records;
"""
_SPLIT = "SELECT plait_split(lane, array_agg(id)) FROM plait_records GROUP BY lane"


def graph_of(saver: Any) -> Any:
    """Some steps, then a question."""
    return chain(
        saver,
        ("a", adder("a")),
        ("b", adder("b")),
        ("ask", lambda state: {"items": [interrupt("well?")]}),
    )


def history(saver: Any) -> list[Any]:
    """All that is told of a thread's past."""
    return [
        (state.config, state.values, state.next, state.metadata, state.tasks)
        for state in graph_of(saver).get_state_history(CONFIG)
    ]


@pytest.mark.parametrize(
    ("version", "copies"), [(3, _THREE_TABLES), (4, _ROWS_ALONE), (5, _AS_THEY_ARE)]
)
def test_threads_of_an_earlier_schema_read_back_whole_and_go_on(
    postgres_server: Server, version: int, copies: str
) -> None:
    with postgres_server.database() as new, postgres_server.database() as old:
        with PostgresSaver(new) as saver:
            graph_of(saver).invoke({"items": ["start"]}, CONFIG)
            expected = history(saver)
        with psycopg.connect(new) as conn:
            conn.execute(_SPLIT)
        with psycopg.connect(old) as conn:
            run: Any = conn.execute
            run(_VERSIONS.make_versions)
            for number, sql in migrations("plait.checkpoint.postgres"):
                if number <= version:
                    run(sql)
            run(f"INSERT INTO plait_schema_versions VALUES ('log', {version})")
            names = {
                key: url.rpartition("application_name=")[2]
                for key, url in (("new", new), ("old", old))
            }
            run((_LANES + copies).format(**names))
        with PostgresSaver(old) as saver:
            assert history(saver) == expected
            done = graph_of(saver).invoke(Command(resume="yes"), CONFIG)
            assert done == {"items": ["start", "a", "b", "yes"]}
        with psycopg.connect(old) as conn:
            assert conn.execute("SELECT to_regclass('plait_writes')").fetchone() == (None,)


def test_ordinary_commits_are_one_row_each_and_read_back_whole_when_they_are_split(
    postgres_server: Server,
) -> None:
    with postgres_server.database() as url, PostgresSaver(url) as saver:
        graph_of(saver).invoke({"items": ["start"]}, CONFIG)
        expected = history(saver)
        with psycopg.connect(url) as conn:
            count = "SELECT count(*) FROM plait_records"
            company = f"{count} WHERE kept IS NOT NULL AND acks IS NOT NULL"
            assert conn.execute(company).fetchone() == (3,)
            before = conn.execute(count).fetchone()
            conn.execute(_SPLIT)
            assert conn.execute(company).fetchone() == (0,)
            assert conn.execute(count).fetchone() > before
        assert history(saver) == expected
