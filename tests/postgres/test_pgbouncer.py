"""Behind a real PgBouncer in transaction mode, savers and stores keep the same promises.

The tests here are those of the modules next door, over a server that a pooler stands before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver as PeerPostgres
from tests.cli import test_postgres as commands
from tests.importing import apps

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.postgres import PostgresSaver
from plait.importing import import_langgraph

from . import test_conformance, test_processes, test_row_stores, test_store
from . import test_connections as near
from .pgbouncer import CONNECTIONS, PgBouncer
from .server import NoServer, Server
from .test_connections import NODES, chain, config
from .test_processes import start as start


@pytest.fixture(scope="module", name="postgres_server")
def pooled(postgres_server: Server) -> Iterator[PgBouncer]:
    """The server of the session, behind a pooler."""
    try:
        pooler = PgBouncer(postgres_server)
    except NoServer as why:
        pytest.skip(str(why))
    yield pooler
    pooler.stop()


class TestSync(test_conformance.TestSync):
    """The suite of savers, sync."""


class TestAsync(test_conformance.TestAsync):
    """The suite of savers, async."""


class TestStore(test_store.TestSync):
    """The suite of stores."""


class TestAsyncStore(test_store.TestAsync):
    """The suite of stores, async."""


class TestStoreOnAPool(test_store.TestPoolOfTheUser):
    """The suite of stores, on a pool of psycopg's."""


test_cut = (
    near.test_backends_terminated_at_any_moment_give_typed_errors_or_recovery_and_lose_nothing
)
test_restart = near.test_runs_go_on_through_a_restart_of_the_server
test_cancelled = near.test_cancelled_runs_give_back_connections_and_threads
test_set_ups = near.test_set_ups_at_the_same_time_make_one_schema
test_pool = near.test_pool_of_the_user_serves_sync_and_async_and_stays_open
test_async_pool = near.test_async_pool_of_the_user_serves_sync_calls_of_other_threads
test_killed = test_processes.test_killed_at_any_storage_request_nothing_is_lost_or_repeated
test_races = test_processes.test_of_many_processes_that_resume_a_thread_exactly_one_runs
test_clocks = test_processes.test_leases_are_told_by_the_servers_clock
test_rows = test_row_stores.test_rows_in_postgres_are_those_of_plain_dicts
test_joined = test_row_stores.test_so_are_those_of_commits_that_went_together
test_commands = commands.test_the_commands_work_on_a_postgres_database


def test_a_crowd_of_sync_and_async_runs_shares_the_few_connections_of_a_pooler(
    postgres_server: Server, postgres_url: str
) -> None:
    with ExitStack() as opened, PostgresSaver(postgres_url, max_connections=20) as saver:
        for _ in range(3 * CONNECTIONS):  # with a connection each, nobody else would get one
            other = opened.enter_context(psycopg.connect(postgres_url, autocommit=True))
            other.execute("SELECT 1")
        graph = chain(saver)

        async def crowd() -> list[object]:
            runs = (graph.ainvoke({"items": []}, config(number)) for number in range(100))
            return await asyncio.gather(*runs)

        with ThreadPoolExecutor(20) as threads:
            ran = threads.map(lambda n: graph.invoke({"items": []}, config(n)), range(100, 150))
            assert asyncio.run(crowd()) == [{"items": NODES}] * 100
            assert [*ran] == [{"items": NODES}] * 50
        assert postgres_server.connections(postgres_url) <= CONNECTIONS


def test_an_import_leaves_the_connections_that_others_are_lent_as_they_were(
    postgres_server: PgBouncer, postgres_url: str
) -> None:
    with PeerPostgres.from_conn_string(postgres_server.past(postgres_url)) as peer:
        peer.setup()
        graph = apps.asker(apps.LANGGRAPH, peer)
        for number in range(9):  # psycopg prepares what it runs for the sixth time
            graph.invoke({"items": ["in"]}, config(number))
    with ExitStack() as opened:
        others = [
            opened.enter_context(psycopg.connect(postgres_url, prepare_threshold=None))
            for _ in range(CONNECTIONS)
        ]
        for other in others:  # all are in use at once, then all are free
            other.execute("SELECT 1")
        for other in others:
            other.commit()
        report = import_langgraph(postgres_url, InMemorySaver())
        assert [each.outcome for each in report.threads] == ["imported"] * 9
        for other in others:
            other.execute("CREATE TABLE IF NOT EXISTS theirs (x int)")
            prepared = other.execute("SELECT name FROM pg_prepared_statements").fetchall()
            assert prepared == [], "what an import prepared is in the way of who comes next"
            other.commit()
