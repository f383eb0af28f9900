"""What a store is told when it is made, and what it cannot be told."""

from __future__ import annotations

import asyncio
from math import inf, nan
from typing import Any

import pytest

from plait.errors import ConfigError, ConfigTypeError
from plait.store.memory import InMemoryStore
from plait.store.sqlite import AsyncSqliteStore, SqliteStore


def embed(texts: Any) -> list[list[float]]:
    return [[1.0] for _ in texts]


INDEX: Any = {"dims": 1, "embed": embed}
INTERVALS = [-1, -0.001, nan, inf, 1e300, True, "5"]


def test_a_key_of_a_ttl_that_nobody_reads_is_refused() -> None:
    wrong: Any = {"default_tll": 5}
    for kind in (SqliteStore, AsyncSqliteStore):
        with pytest.raises(ConfigError, match=r"'default_tll' in ttl=.*mean 'default_ttl'\?"):
            kind(":memory:", ttl=wrong)
    with pytest.raises(ConfigError, match="default_tll"):
        SqliteStore.from_conn_string(":memory:", ttl={"default_ttl": 1, **wrong})


def test_a_key_of_an_index_that_nobody_reads_is_refused() -> None:
    wrong: Any = {**INDEX, "field": ["text"]}
    for make in (InMemoryStore, lambda index: SqliteStore(":memory:", index=index)):
        with pytest.raises(ConfigError, match=r"'field' in index=.*mean 'fields'\?"):
            make(index=wrong)
    with pytest.raises(ConfigError, match="Unknown key 7"):
        InMemoryStore(index={**INDEX, 7: 7})


def test_all_that_the_peer_knows_is_taken() -> None:
    pytest.importorskip("langgraph.store.sqlite", reason="the peer's own lists of keys")
    from langgraph.store.base import IndexConfig, TTLConfig
    from langgraph.store.memory import InMemoryStore as Theirs

    ttl: Any = dict.fromkeys(TTLConfig.__annotations__)
    index: Any = {**dict.fromkeys(IndexConfig.__annotations__), **INDEX}
    index |= {"text_fields": None, "distance_type": "cosine", "ann_index_config": {"kind": "hnsw"}}
    theirs: Any = Theirs(index=index).index_config  # has keys of its own besides
    for each in (index, theirs):
        assert InMemoryStore(index=each).index_config == each
        assert SqliteStore(":memory:", index=each, ttl=ttl).ttl_config == ttl


@pytest.mark.parametrize("wrong", [60, "default_ttl", ["default_ttl"]])
def test_what_is_no_config_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigTypeError, match=r"ttl=.*give a dict"):
        SqliteStore(":memory:", ttl=wrong)
    with pytest.raises(ConfigTypeError, match=r"index=.*give a dict"):
        InMemoryStore(index=wrong)


@pytest.mark.parametrize("minutes", INTERVALS)
def test_an_interval_that_is_none_does_not_begin_a_sweeper(minutes: Any) -> None:
    with pytest.raises(ConfigError, match=r"sweep_interval_minutes=.*above 0"):
        SqliteStore(":memory:", ttl={"sweep_interval_minutes": minutes})
    with SqliteStore(":memory:", ttl={}) as store:
        with pytest.raises(ConfigError, match="above 0"):
            store.start_ttl_sweeper(minutes)
        assert store.stop_ttl_sweeper()

    async def main() -> None:
        async with AsyncSqliteStore(":memory:", ttl={"default_ttl": 1}) as store:
            with pytest.raises(ConfigError, match="above 0"):
                await store.start_ttl_sweeper(minutes)

    asyncio.run(main())


def test_no_interval_and_an_interval_of_zero_are_the_default() -> None:
    for minutes in (None, 0, 0.0):
        with SqliteStore(":memory:", ttl={"sweep_interval_minutes": minutes}) as store:
            assert store._sweep_seconds(minutes) == 300
