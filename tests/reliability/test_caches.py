"""Caches: what they promise by themselves, and what a graph makes of them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import fakeredis
import pytest
import redis

from plait.cache.base import BaseCache
from plait.cache.memory import InMemoryCache
from plait.cache.redis import RedisCache
from plait.cache.sqlite import SqliteCache
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import (
    ConfigError,
    InvalidInputError,
    InvalidNodeError,
    UnavailableCacheWarning,
    UnknownNodeError,
    UnreadableCacheWarning,
)
from plait.graph import START, StateGraph
from plait.types import CachePolicy

A, B, DEEP = (("a",), "k"), (("b",), "k"), (("a", "b"), "k")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "redis", "redis-async"])
def cache(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemoryCache(clock=clock)
    elif request.param == "sqlite":
        with SqliteCache(path=tmp_path / "cache.db", clock=clock) as cache:
            yield cache
    elif request.param == "redis":
        yield RedisCache(fakeredis.FakeRedis())
    else:
        yield RedisCache(fakeredis.FakeAsyncRedis())


class Calls:
    """A cache, called in one way: with an async client that is the async one."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache

    async def __call__(self, name: str, *args: Any) -> Any:
        is_async = isinstance(self.cache, RedisCache) and self.cache._is_async
        if is_async or self.way == "async":
            return await getattr(self.cache, f"a{name}")(*args)
        return getattr(self.cache, name)(*args)

    way = "sync"


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_values_come_back_until_they_are_cleared(cache: BaseCache[Any], way: str) -> None:
    do = Calls(cache)
    do.way = way
    assert await do("get", [A]) == {}
    assert await do("get", []) == {}
    await do("set", {})
    await do("set", {A: ({"x": (1, b"y")}, None), B: (2, 60), DEEP: (3, None)})
    assert await do("get", [A, B, DEEP, (("c",), "k")]) == {A: {"x": (1, b"y")}, B: 2, DEEP: 3}
    await do("set", {A: ("new", None)})
    assert await do("get", [A]) == {A: "new"}
    await do("clear", [("a",), ("nobody",)])
    assert await do("get", [A, B, DEEP]) == {B: 2, DEEP: 3}, "('a',) does not contain ('a', 'b')"
    await do("clear")
    assert await do("get", [B, DEEP]) == {}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_values_expire(kind: str, tmp_path: Path, clock: Clock) -> None:
    made: dict[str, Callable[[], Any]] = {
        "memory": lambda: InMemoryCache(clock=clock),
        "sqlite": lambda: SqliteCache(path=tmp_path / "cache.db", clock=clock),
    }
    cache = made[kind]()
    cache.set({A: (1, 10), B: (2, None), DEEP: (3, 0)})
    assert cache.get([A, B, DEEP]) == {A: 1, B: 2}
    clock.now += 9.9
    assert cache.get([A]) == {A: 1}
    clock.now += 0.1
    assert cache.get([A, B]) == {B: 2}


def test_expired_values_leave_the_memory_and_the_file(tmp_path: Path, clock: Clock) -> None:
    memory, path = InMemoryCache(clock=clock), tmp_path / "cache.db"
    with SqliteCache(path=path, clock=clock) as sqlite:
        for number in range(2_000):
            for cache in (memory, sqlite) if number < 50 else (memory,):
                cache.set({(("ns",), str(number)): ("x", 5)})
            clock.now += 1
        sqlite.set({A: (1, None)})
    assert sum(map(len, memory._entries.values())) < 600
    assert sqlite3.connect(path).execute("SELECT count(*) FROM cache").fetchone() == (1,)


def test_names_in_redis_cannot_be_confused_or_match_as_patterns() -> None:
    cache: RedisCache[int] = RedisCache(fakeredis.FakeRedis(), prefix="p[1]*:")
    other: RedisCache[int] = RedisCache(cache.redis, prefix="p1x:")
    names = [(("a:b",), "k"), (("a", "b"), "k"), (("a*",), "k"), (("ab",), "k"), (("a",), "b::k")]
    cache.set({full: (number, None) for number, full in enumerate(names)})
    other.set({A: (9, None)})
    assert cache.get(names) == {full: number for number, full in enumerate(names)}
    cache.clear([("a*",)])
    assert set(cache.get(names)) == {full for full in names if full[0] != ("a*",)}
    cache.clear()
    assert (cache.get(names), other.get([A])) == ({}, {A: 9})


def test_redis_drops_values_by_itself() -> None:
    cache: RedisCache[int] = RedisCache(fakeredis.FakeRedis())
    cache.set({A: (1, 60), B: (2, None)})
    times = {cache.redis.ttl(name) for name in list(cache.redis.scan_iter())}
    assert times == {60, -1}


def test_async_redis_client_in_a_sync_run_is_a_named_error() -> None:
    with pytest.raises(ConfigError, match="async client"):
        RedisCache(fakeredis.FakeAsyncRedis()).get([A])


def test_a_sqlite_cache_shares_a_file_with_threads(tmp_path: Path) -> None:
    path, runs = tmp_path / "all.db", list[int]()
    with SqliteSaver.from_conn_string(str(path)) as saver, SqliteCache(path=path) as cache:
        graph = cached_graph(runs, cache, saver)
        for thread in "12":
            graph.invoke({"x": 1}, {"configurable": {"thread_id": thread}})
    assert len(runs) == 1


# --- in graphs -----------------------------------------------------------------------------------


@dataclass
class Point:
    x: int


class State(TypedDict, total=False):
    x: Any
    point: Point


def cached_graph(runs: list[int], cache: Any, saver: Any = None) -> Any:
    def work(state: State) -> State:
        runs.append(1)
        return {"point": Point(state["x"])}

    builder = StateGraph(State).add_node("work", work, cache_policy=CachePolicy())
    return builder.add_edge(START, "work").compile(cache=cache, checkpointer=saver)


def test_types_of_the_graphs_schema_are_cached_without_registering_them(cache: Any) -> None:
    runs: list[int] = []
    graph = cached_graph(runs, cache)

    async def twice() -> list[Any]:
        return [await graph.ainvoke({"x": 1}) for _ in range(2)]

    assert asyncio.run(twice()) == [{"x": 1, "point": Point(1)}] * 2
    assert len(runs) == 1


def test_what_a_node_does_with_its_result_later_does_not_change_what_is_cached() -> None:
    kept: list[list[int]] = []

    def work(state: State) -> State:
        kept.append([1])
        return {"x": kept[-1]}

    builder = StateGraph(State).add_node("work", work, cache_policy=CachePolicy())
    graph = builder.add_edge(START, "work").compile(cache=InMemoryCache())
    graph.invoke({"x": 0})["x"].append(2)
    graph.invoke({"x": 0})["x"].append(3)
    assert graph.invoke({"x": 0}) == {"x": [1]}
    assert len(kept) == 1


def test_an_unreadable_result_is_a_miss_with_a_warning_and_is_replaced() -> None:
    runs: list[int] = []
    cache: InMemoryCache[Any] = InMemoryCache()
    graph = cached_graph(runs, cache)
    graph.invoke({"x": 1})
    (full,) = [(ns, key) for ns, entries in cache._entries.items() for key in entries]
    for garbage in (b"garbage", 5, ["not", "writes"]):
        cache.set({full: (garbage, None)})
        with pytest.warns(UnreadableCacheWarning, match="'work'"):
            assert graph.invoke({"x": 1})["point"] == Point(1)
    graph.invoke({"x": 1})
    assert len(runs) == 4


def test_a_key_that_cannot_be_made_names_the_node() -> None:
    graph = cached_graph([], InMemoryCache())
    with pytest.raises(TypeError) as caught:
        graph.invoke({"x": object()})
    assert "key_func" in caught.value.__notes__[0]
    assert "'work'" in caught.value.__notes__[0]


def test_clearing_names_what_is_wrong() -> None:
    with pytest.raises(ConfigError, match="No cache is set"):
        cached_graph([], None).clear_cache()
    with pytest.raises(UnknownNodeError, match="Did you mean 'work'"):
        cached_graph([], InMemoryCache()).clear_cache(["wrok"])


def test_a_failing_cache_fails_the_run() -> None:
    class Broken(InMemoryCache[Any]):
        def get(self, keys: Any) -> Any:
            raise ConnectionError("no cache today")

    with pytest.raises(ConnectionError, match="no cache today"):
        cached_graph([], Broken()).invoke({"x": 1})


async def test_runs_go_on_while_redis_does_not_answer_and_say_so() -> None:
    server = fakeredis.FakeServer()
    server.connected = False
    cache: RedisCache[int] = RedisCache(fakeredis.FakeRedis(server=server))
    aio: RedisCache[int] = RedisCache(fakeredis.FakeAsyncRedis(server=server))
    with pytest.warns(UnavailableCacheWarning, match="Redis did not answer"):
        assert cached_graph([], cache).invoke({"x": 1}) == {"x": 1, "point": Point(1)}
    for some in (cache, aio):
        with pytest.warns(UnavailableCacheWarning):
            assert await some.aget([A]) == {}
        with pytest.warns(UnavailableCacheWarning):
            await some.aset({A: (1, None)})
        with pytest.raises(redis.exceptions.ConnectionError):
            await some.aclear()


async def test_an_async_client_without_scan_iter_is_cleared_by_its_keys() -> None:
    class Plain(fakeredis.FakeAsyncRedis):
        scan_iter = None

    cache: RedisCache[int] = RedisCache(Plain())
    await cache.aset({A: (1, None), B: (2, None)})
    await cache.aclear([("a",)])
    assert await cache.aget([A, B]) == {B: 2}


async def test_fractions_of_seconds_are_kept_and_spent_values_dropped_in_redis() -> None:
    cache: RedisCache[int] = RedisCache(fakeredis.FakeRedis())
    cache.set({A: (1, 0.5), B: (2, 60)})  # type: ignore[dict-item]
    left = {key: cache.redis.pttl(cache._name(key)) for key in (A, B)}
    assert 0 < left[A] <= 500
    assert 59_000 < left[B] <= 60_000
    cache.set({B: (2, 0)})
    assert cache.get([A, B]) == {A: 1}


def test_damaged_values_in_redis_are_misses_with_a_warning() -> None:
    cache: RedisCache[int] = RedisCache(fakeredis.FakeRedis())
    cache.redis.set(cache._name(A), b"garbage")
    with pytest.warns(UnreadableCacheWarning, match="is taken for a miss"):
        assert cache.get([A]) == {}
    with pytest.raises(ConfigError, match="decode_responses"):
        RedisCache(fakeredis.FakeRedis(decode_responses=True))


@pytest.mark.parametrize("key", [5, 10**12, True, None, 1.5, (1,), [1], {"a": 1}])
def test_a_key_is_text_or_bytes(key: Any) -> None:
    """`bytes(5)` is five zeros, and those of a large number fill the memory."""
    builder = StateGraph(dict)
    builder.add_node("n", lambda state: {}, cache_policy=CachePolicy(key_func=lambda state: key))
    graph = builder.add_edge(START, "n").compile(cache=InMemoryCache())
    with pytest.raises(InvalidInputError, match="cache key"):
        graph.invoke({})


@pytest.mark.parametrize("ttl", ["60", float("nan"), True, 10**400, b"1", []])
def test_the_life_of_a_result_is_a_number_of_seconds(ttl: Any) -> None:
    builder = StateGraph(dict)
    with pytest.raises(InvalidNodeError, match="ttl"):
        builder.add_node("n", lambda state: {}, cache_policy=CachePolicy(ttl=ttl))


class Handled(TypedDict):
    n: int


@pytest.mark.parametrize("way", ["sync", "async"])
def test_what_a_task_gives_that_failed_in_an_earlier_run_is_cached_like_any_other(way: str) -> None:
    ran: list[int] = []

    def node(state: Handled) -> Any:
        ran.append(state["n"])
        if len(ran) == 1:
            raise ValueError("no")
        return {"n": state["n"] + 1}

    builder = StateGraph(Handled).add_node("node", node, cache_policy=CachePolicy())
    builder.add_edge(START, "node")
    graph = builder.compile(InMemorySaver(), cache=InMemoryCache())

    def call(given: Any, thread: str) -> Any:
        config: Any = {"configurable": {"thread_id": thread}}
        if way == "sync":
            return graph.invoke(given, config)
        return asyncio.run(graph.ainvoke(given, config))

    with pytest.raises(ValueError, match="no"):
        call({"n": 1}, "a")
    assert call(None, "a") == call({"n": 1}, "b") == {"n": 2}
    assert ran == [1, 1], "the second thread finds what the first one's second run gave"


def test_what_an_error_handler_gives_is_never_cached() -> None:
    handled: list[str] = []

    def fails(state: Handled) -> Any:
        raise ValueError("no")

    def handler(state: Handled) -> Any:
        handled.append("once")
        return {"n": len(handled)}

    builder = StateGraph(Handled).add_node(fails).add_edge(START, "fails")
    builder.set_node_defaults(cache_policy=CachePolicy(), error_handler=handler)
    graph = builder.compile(cache=InMemoryCache())
    assert [graph.invoke({"n": 0}) for _ in range(2)] == [{"n": 1}, {"n": 2}]
    policies = {name: node.cache_policy for name, node in graph.nodes.items()}
    assert policies.pop("fails") is not None
    assert set(policies.values()) == {None}, "no graph says that it caches its handlers"
    assert len(policies) == 2
