"""Settings that a server may have by default: runs work under them, or say what is in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.durability.graphs import CONFIG, adder, chain, config

from plait.chat_history.postgres import PostgresChatMessageHistory
from plait.checkpoint.log.identity import lease_time
from plait.checkpoint.log.requests import ReadLane, Renew
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.postgres.rows import SCHEMA
from plait.errors import ConfigError, StorageError, StorageUnavailableError
from plait.messages import HumanMessage
from plait.postgres import Database, Steps
from plait.store.postgres import PostgresStore

from .server import Server, name_of, new_name

HARD = "é 日本 'a' \\ {}"
"""What is easily read as something else."""


def under(url: str, setting: str) -> str:
    """The URL of the same schema, for sessions with a setting."""
    return url.replace("options=", f"options={quote(f'-c{setting} ')}", 1)


def graph_of(saver: Any) -> Any:
    return chain(saver, *((name, adder(name)) for name in "ab"))


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation=serializable",
        "default_transaction_isolation=repeatable\\ read",
        "synchronous_commit=off",
    ],
)
def test_threads_that_begin_together_set_the_tables_up_once(
    postgres_url: str, setting: str
) -> None:
    with PostgresSaver(under(postgres_url, setting), max_connections=4) as saver:
        graph = graph_of(saver)

        def run(name: str) -> Any:
            return graph.invoke({"items": []}, {"configurable": {"thread_id": name}})

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(run, "abcdefgh")) == [{"items": ["a", "b"]}] * 8


@pytest.mark.parametrize("given", [False, True])
def test_what_a_strict_server_rolls_back_because_of_others_is_done_in_an_ordinary_transaction(
    postgres_url: str, given: bool
) -> None:
    modes: list[str] = []

    def steps() -> Steps[str]:
        [(mode,)] = yield "SELECT current_setting('transaction_isolation')", ()
        modes.append(mode)
        if mode != "read committed":  # as the server does for what others read and wrote
            yield "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$", ()
        return mode

    url = under(postgres_url, "default_transaction_isolation=serializable")
    with psycopg.connect(postgres_url) as conn:
        conn.isolation_level = IsolationLevel.SERIALIZABLE
        database = Database(conn if given else url, SCHEMA)
        assert database.run(steps) == "read committed"
        assert database.run(steps, together=True) == "read committed"
        assert asyncio.run(database.arun(steps)) == "read committed"
        assert modes == ["serializable", "read committed"] * 3
        database.close()


@pytest.mark.parametrize("prepared", [False, True])
def test_a_server_that_can_only_be_read_is_named(postgres_url: str, prepared: bool) -> None:
    if prepared:
        with PostgresSaver(postgres_url) as saver:
            saver.setup()
    with (
        PostgresSaver(under(postgres_url, "default_transaction_read_only=on")) as saver,
        pytest.raises(StorageUnavailableError, match=r"standby.*primary"),
    ):
        graph_of(saver).invoke({"items": []}, CONFIG)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_sessions_from_when_a_database_could_only_be_read_are_not_kept(
    postgres_server: Server, mode: str
) -> None:
    def run(number: int) -> Any:
        if mode == "sync":
            return graph.invoke({"items": []}, config(str(number)))
        return asyncio.run(graph.ainvoke({"items": []}, config(str(number))))

    with encoded(postgres_server, "UTF8") as url, PostgresSaver(url) as saver:
        graph = graph_of(saver)
        assert run(1) == {"items": ["a", "b"]}
        name = conninfo_to_dict(url)["dbname"]
        postgres_server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        with PostgresSaver(url) as late:
            graph = graph_of(late)
            with pytest.raises(StorageUnavailableError, match="primary"):
                run(2)
            graph.get_state(config("1"))
            asyncio.run(graph.aget_state(config("1")))
            postgres_server.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            assert run(3) == {"items": ["a", "b"]}


@pytest.mark.parametrize(
    "setting",
    [
        "standard_conforming_strings=off",
        "bytea_output=escape",
        "array_nulls=off",
        "DateStyle=German",
        "TimeZone=Asia/Kathmandu",
        "extra_float_digits=-15",
        "client_encoding=LATIN1",
        "client_encoding=SQL_ASCII",
    ],
)
def test_what_is_stored_does_not_depend_on_how_sessions_write_and_read(
    postgres_url: str, setting: str
) -> None:
    stores_all(under(postgres_url, setting), HARD)


def stores_all(url: str, name: str) -> None:
    """A thread, items and messages, whose names and values are read back as they were."""
    with PostgresSaver(url) as saver:
        graph = chain(saver, ("a", adder(name)), ("b", adder(b"\x00\\\xff")))
        done = {"items": [1.1, name, b"\x00\\\xff"]}
        assert graph.invoke({"items": [1.1]}, config(name)) == done
        saver.copy_thread(name, "copy")
        saver.prune(["copy"])
        assert graph.get_state(config("copy")).values == done
        assert asyncio.run(graph.ainvoke(None, config(name))) == done
        assert next(graph.get_state_history(config(name))).values == done
    with PostgresStore(url) as store:
        now = datetime.now(UTC)
        store.put(("items", name), name, {"of": name}, ttl=5)
        store.put(("items", name), "gone", {"of": name})
        store.delete(("items", name), "gone")
        [found] = store.search(("items",), filter={"of": name})
        assert (found.namespace, found.key, found.value) == (("items", name), name, {"of": name})
        assert abs(found.created_at - now) < timedelta(minutes=5)
        assert store.list_namespaces() == [("items", name)]
    with PostgresChatMessageHistory(name, url) as history:
        history.add_messages([HumanMessage(name)])
        assert [message.content for message in history.messages] == [name]


@contextmanager
def encoded(server: Server, encoding: str) -> Iterator[str]:
    """The URL of a new database of this encoding."""
    name = new_name()
    server.execute(
        f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' "
        "LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    yield make_conninfo(server.url, dbname=name)
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(
    ("encoding", "name"), [("LATIN1", "é 'a' \\ {}"), ("SQL_ASCII", HARD), ("EUC_JP", HARD)]
)
def test_a_database_of_another_encoding_holds_what_it_can(
    postgres_server: Server, encoding: str, name: str
) -> None:
    with encoded(postgres_server, encoding) as url:
        stores_all(url, name)


def test_a_name_that_the_encoding_of_a_database_does_not_know_is_a_named_error(
    postgres_server: Server,
) -> None:
    with encoded(postgres_server, "LATIN1") as url, PostgresSaver(url) as saver:
        with pytest.raises(StorageError, match=r"LATIN1.*ENCODING 'UTF8'"):
            graph_of(saver).invoke({"items": []}, config("日本"))
        assert graph_of(saver).invoke({"items": ["日本"]}, CONFIG) == {"items": ["日本", "a", "b"]}


def test_a_connection_of_the_user_that_speaks_another_encoding_is_refused(
    postgres_url: str,
) -> None:
    with (
        psycopg.connect(postgres_url, client_encoding="LATIN1") as conn,
        pytest.raises(ConfigError, match=r"LATIN1.*client_encoding='UTF8'"),
    ):
        PostgresSaver(conn).setup()


def test_a_search_path_without_a_schema_is_named(postgres_server: Server) -> None:
    url = make_conninfo(postgres_server.url, options="-csearch_path=nowhere")
    with PostgresSaver(url) as saver, pytest.raises(StorageUnavailableError, match="search_path"):
        saver.setup()


@pytest.mark.parametrize("limit", ["statement_timeout", "transaction_timeout"])
def test_a_limit_of_time_is_named_and_nothing_is_stored(
    postgres_server: Server, postgres_url: str, limit: str
) -> None:
    if not postgres_server.execute(f"SELECT 1 FROM pg_settings WHERE name = '{limit}'"):
        pytest.skip(f"this server has no {limit}")
    with PostgresSaver(postgres_url) as saver:
        graph_of(saver).invoke({"items": []}, CONFIG)
        before = graph_of(saver).get_state(CONFIG).config
        with (
            psycopg.connect(postgres_url) as other,
            PostgresSaver(under(postgres_url, f"{limit}=100")) as limited,
        ):
            other.execute("LOCK TABLE plait_lanes IN SHARE MODE")
            with pytest.raises(StorageUnavailableError, match=limit):
                graph_of(limited).invoke({"items": []}, CONFIG)
        assert graph_of(saver).get_state(CONFIG).config == before


def test_who_waits_for_a_lock_longer_than_the_server_likes_tries_again(
    postgres_server: Server, postgres_url: str
) -> None:
    with PostgresSaver(postgres_url) as saver:
        saver.setup()
    with (
        psycopg.connect(postgres_url) as other,
        PostgresSaver(under(postgres_url, "lock_timeout=1000")) as saver,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("LOCK TABLE plait_lanes IN SHARE MODE")
        run = pool.submit(graph_of(saver).invoke, {"items": []}, CONFIG)
        tries: set[Any] = set()
        while len(tries) < 2 and not run.done():
            sql = (
                "SELECT query_start FROM pg_stat_activity "
                f"WHERE application_name = '{name_of(postgres_url)}' AND wait_event_type = 'Lock'"
            )
            tries.update(postgres_server.execute(sql))
        other.rollback()
        assert run.result() == {"items": ["a", "b"]}


def test_a_thread_that_is_locked_keeps_no_other_claim_from_being_renewed(
    postgres_url: str,
) -> None:
    with (
        PostgresSaver(under(postgres_url, "lock_timeout=100")) as saver,
        psycopg.connect(postgres_url) as other,
        psycopg.connect(postgres_url, autocommit=True) as looking,
    ):
        for name in ("a", "locked", "z"):
            saver.run(saver.open_session(name, lease=60).claim())
        lanes = [saver.execute(ReadLane(name, "")) for name in ("a", "locked", "z")]
        claims = [(row.lane, row.fence) for row in lanes]

        def renewed() -> list[str]:
            sql = "SELECT thread_id FROM plait_lanes WHERE lease > plait_clock() + 60 ORDER BY 1"
            return [name for (name,) in looking.execute(sql)]

        other.execute("SELECT FROM plait_lanes WHERE thread_id = 'locked' FOR UPDATE")
        with pytest.raises(StorageUnavailableError, match="lock timeout"):
            saver.renew(Renew(claims, lease_time() + 3600))
        assert renewed() == ["a", "z"]
        other.rollback()
        saver.renew(Renew(claims, lease_time() + 3600))
        assert renewed() == ["a", "locked", "z"]


def test_connections_that_the_server_ends_while_they_are_idle_are_opened_again(
    postgres_server: Server, postgres_url: str
) -> None:
    with PostgresSaver(under(postgres_url, "idle_session_timeout=100")) as saver:
        assert graph_of(saver).invoke({"items": []}, CONFIG) == {"items": ["a", "b"]}
        postgres_server.wait_until_left(postgres_url)
        assert graph_of(saver).get_state(CONFIG).values == {"items": ["a", "b"]}
