"""Settings that a server may have by default: runs work under them, or say what is in the way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.durability.graphs import CONFIG, adder, chain

from plait.checkpoint.postgres import PostgresSaver
from plait.errors import StorageUnavailableError


def under(url: str, setting: str) -> str:
    """The URL of the same schema, for sessions with a setting."""
    return url.replace("options=", f"options=-c{setting}%20", 1)


def graph_of(saver: Any) -> Any:
    return chain(saver, *((name, adder(name)) for name in "ab"))


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation%3Dserializable",
        "default_transaction_isolation%3Drepeatable%5C%20read",
        "synchronous_commit%3Doff",
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


@pytest.mark.parametrize("prepared", [False, True])
def test_a_server_that_can_only_be_read_is_named(postgres_url: str, prepared: bool) -> None:
    if prepared:
        with PostgresSaver(postgres_url) as saver:
            saver.setup()
    with (
        PostgresSaver(under(postgres_url, "default_transaction_read_only%3Don")) as saver,
        pytest.raises(StorageUnavailableError, match=r"standby.*primary"),
    ):
        graph_of(saver).invoke({"items": []}, CONFIG)
