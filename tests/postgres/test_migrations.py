"""A database of an earlier schema is brought up to date, and its threads go on."""

from __future__ import annotations

from typing import Any

import psycopg
from tests.durability.graphs import CONFIG, adder, chain

from plait.checkpoint.postgres import PostgresSaver
from plait.sql import Statements, migrations
from plait.types import Command, interrupt

from .server import Server

_VERSIONS = Statements("plait.postgres", "versions.sql")
_COPIES = """
INSERT INTO {old}.plait_lanes OVERRIDING SYSTEM VALUE SELECT * FROM {new}.plait_lanes;
INSERT INTO {old}.plait_checkpoints
SELECT lane, id, about, record FROM {new}.plait_records WHERE name = 'c';
INSERT INTO {old}.plait_writes
SELECT lane, id, task, convert_from(about, 'UTF8'), record FROM {new}.plait_records
WHERE name = 'w';
INSERT INTO {old}.plait_versions
SELECT lane, substr(name, 2), id, record FROM {new}.plait_records WHERE name LIKE 'v%';
"""


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


def test_threads_of_the_three_tables_of_before_read_back_whole_and_go_on(
    postgres_server: Server,
) -> None:
    with postgres_server.database() as new, postgres_server.database() as old:
        with PostgresSaver(new) as saver:
            graph_of(saver).invoke({"items": ["start"]}, CONFIG)
            expected = history(saver)
        with psycopg.connect(old) as conn:
            run: Any = conn.execute
            run(_VERSIONS.make_versions)
            for number, sql in migrations("plait.checkpoint.postgres"):
                if number < 4:
                    run(sql)
            run("INSERT INTO plait_schema_versions VALUES ('log', 3)")
            names = {
                key: url.rpartition("application_name=")[2]
                for key, url in (("new", new), ("old", old))
            }
            run(_COPIES.format(**names))
        with PostgresSaver(old) as saver:
            assert history(saver) == expected
            done = graph_of(saver).invoke(Command(resume="yes"), CONFIG)
            assert done == {"items": ["start", "a", "b", "yes"]}
        with psycopg.connect(old) as conn:
            assert conn.execute("SELECT to_regclass('plait_writes')").fetchone() == (None,)
