"""`plait threads` and `plait timers` on a real Postgres."""

from __future__ import annotations

import json

import psycopg
import pytest

from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.store.postgres import PostgresStore

from . import test_typed
from .app import fill
from .test_threads import plait, told
from .test_typed import ROOT, begin
from .typed import KEY


def test_the_commands_work_on_a_postgres_database(postgres_url: str) -> None:
    with PostgresSaver.from_conn_string(postgres_url) as saver:
        saver.setup()
        fill(saver)
    listed = json.loads(told("threads", "list", "--db", postgres_url, "--json"))
    assert [each["thread_id"] for each in listed] == ["done", "asks", "sleeps", "due", "fails"]
    cost = json.loads(told("threads", "du", "--db", postgres_url, "--json"))
    assert cost["total"] == sum(cost["by_thread"].values()) > 2000
    assert told("threads", "copy", "done", "twin", "--db", postgres_url).startswith("Copied")
    assert told("threads", "prune", "twin", "--db", postgres_url) == "Pruned 1 thread.\n"
    assert len(json.loads(told("threads", "history", "twin", "--db", postgres_url, "--json"))) == 1
    assert told("threads", "delete", "twin", "--yes", "--db", postgres_url).startswith("Deleted")
    ran = plait("timers", "run", "app:graph", "--db", postgres_url)
    assert "due: done" in ran.stdout, ran.stderr


def test_a_database_without_tables_is_not_taken_for_one_that_cannot_be_written(
    postgres_url: str,
) -> None:
    for command in (("list",), ("prune", "--all"), ("delete", "a", "--yes"), ("list",)):
        ran = plait("threads", *command, "--db", postgres_url)
        assert ran.returncode
        assert "no tables of plait in its search_path" in ran.stderr


def test_timers_put_no_tables_beside_those_of_somebody_else(postgres_url: str) -> None:
    run = ("timers", "run", "app:graph", "--db", postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute("CREATE TABLE invoices (id int)")
        refused = plait(*run)
        assert refused.returncode == 2
        assert "no tables of plait in its search_path" in refused.stderr
        left = "SELECT relname FROM pg_class WHERE relname LIKE 'plait%'"
        assert conn.execute(left).fetchall() == []
        with PostgresStore(postgres_url) as store:  # the program's, and it has run nothing yet
            store.setup()
        assert "Nothing is due" in plait(*run).stderr


def test_timers_may_be_the_first_at_an_empty_database(postgres_url: str) -> None:
    assert "Nothing is due" in plait("timers", "run", "app:graph", "--db", postgres_url).stderr
    assert json.loads(told("threads", "list", "--db", postgres_url, "--json")) == []


def test_encrypted_threads_of_a_postgres_database_need_their_key(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serde = EncryptedSerializer.from_keys({"1": bytes.fromhex(KEY)})
    with PostgresSaver.from_conn_string(postgres_url, serde=serde) as saver:
        saver.setup()
        begin(saver)
    app = ("--db", postgres_url, "--app-dir", ROOT)
    assert (
        "set PLAIT_AES_KEY"
        in test_typed.plait("timers", "run", "tests.cli.typed:graph", *app).stderr
    )
    monkeypatch.setenv("PLAIT_AES_KEY", f"1={KEY}")
    assert test_typed.told("timers", "run", "tests.cli.typed:graph", *app) == "1: done\n"
    shown = test_typed.told("threads", "show", "1", "--graph", "tests.cli.typed:graph", *app)
    assert "taken = 1" in shown
    assert (
        test_typed.told("threads", "prune", "--all", "--db", postgres_url) == "Pruned 1 thread.\n"
    )
