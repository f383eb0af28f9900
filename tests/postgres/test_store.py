"""The Postgres store keeps the promises of the public suite, under every way to open it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from math import inf, nan
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from plait.errors import InvalidStoreOpError
from plait.store.base import BaseStore, IndexConfig, PutOp
from plait.store.memory import InMemoryStore
from plait.store.postgres import AsyncPostgresStore, PostgresStore
from plait.testing.stores import StoreConformance

from .server import Server, new_name


class OverPostgres:
    server: Server

    @pytest.fixture(autouse=True)
    def use(self, postgres_server: Server) -> None:
        self.server = postgres_server


class TestSync(OverPostgres, StoreConformance):
    @asynccontextmanager
    async def open(self, index: IndexConfig | None = None) -> AsyncIterator[BaseStore]:
        with (
            self.server.database() as url,
            PostgresStore.from_conn_string(url, index=index) as store,
        ):
            yield store

    open_indexed = open


class TestAsync(OverPostgres, StoreConformance):
    @asynccontextmanager
    async def open(self, index: IndexConfig | None = None) -> AsyncIterator[BaseStore]:
        with self.server.database() as url:
            async with AsyncPostgresStore.from_conn_string(url, index=index) as store:
                await store.setup()
                yield store

    open_indexed = open


class TestPoolOfTheUser(OverPostgres, StoreConformance):
    """Rows of another kind, and transactions that begin by themselves, do not disturb it."""

    @asynccontextmanager
    async def open(self, index: IndexConfig | None = None) -> AsyncIterator[BaseStore]:
        options = {"row_factory": dict_row}
        with (
            self.server.database() as url,
            ConnectionPool(url, kwargs=options, min_size=1, max_size=2) as pool,
            PostgresStore(pool, index=index) as store,
        ):
            yield store

    open_indexed = open


class TestAsyncPoolOfTheUser(OverPostgres, StoreConformance):
    @asynccontextmanager
    async def open(self, index: IndexConfig | None = None) -> AsyncIterator[BaseStore]:
        options = {"autocommit": True, "row_factory": dict_row}
        with self.server.database() as url:
            pool = AsyncConnectionPool(url, kwargs=options, min_size=1, max_size=2, open=False)
            async with pool, AsyncPostgresStore(pool, index=index) as store:
                yield store

    open_indexed = open


class TestConnectionOfTheUser(OverPostgres, StoreConformance):
    @asynccontextmanager
    async def open(self, index: IndexConfig | None = None) -> AsyncIterator[BaseStore]:
        with (
            self.server.database() as url,
            psycopg.connect(url) as conn,
            PostgresStore(conn, index=index) as store,
        ):
            yield store

    open_indexed = open


WORDS = ("red", "green", "blue", "sky", "sea", "leaf")


def embed(texts: list[str]) -> list[list[float]]:
    """Counts words; a text without any of them is a vector of zeros."""
    return [[float(text.split().count(word)) for word in WORDS] for text in texts]


INDEX: Any = {"dims": len(WORDS), "embed": embed, "fields": ["text"]}


@contextmanager
def stores(url: str) -> Iterator[list[BaseStore]]:
    """In memory; in Postgres with pgvector; in Postgres where plait compares vectors itself."""
    with (
        PostgresStore.from_conn_string(url, index=INDEX) as server,
        PostgresStore.from_conn_string(url, index=INDEX) as own,
    ):
        own._pgvector = False
        yield [InMemoryStore(index=INDEX), server, own]


def test_pgvector_finds_what_numpy_and_memory_find(postgres_url: str) -> None:
    random = Random(1)
    with stores(postgres_url) as (memory, server, own):
        for number in range(60):
            text = " ".join(random.choices((*WORDS, "nothing"), k=3))
            for store in (memory, server):
                store.put(("n", str(number % 3)), str(number), {"text": text, "n": number})
        memory.put(("n",), "plain", {"text": "sky"}, index=False)
        server.put(("n",), "plain", {"text": "sky"}, index=False)
        for query in ("sky sea", "red", "leaf leaf green", "nothing"):
            for filter in (None, {"n": {"$lt": 30}}):
                found = [
                    {
                        item.key: None if item.score is None else round(item.score, 5)
                        for item in store.search(("n",), query=query, filter=filter, limit=100)
                    }
                    for store in (memory, server, own)
                ]
                assert found[0] == found[1] == found[2]
                assert len(found[0]) == (61 if filter is None else 30)
                pages = [
                    [i.key for i in server.search(("n",), query=query, limit=7, offset=offset)]
                    for offset in range(0, 70, 7)
                ]
            whole = [i.key for i in server.search(("n",), query=query, limit=100)]
            assert [key for page in pages for key in page] == whole
        assert server._pgvector is True  # pyright: ignore


@pytest.mark.parametrize("pgvector", [True, False])
def test_what_is_no_number_is_similar_to_nothing_and_stops_no_search(
    postgres_url: str, pgvector: bool
) -> None:
    vectors = {
        "one": [1.0, 0.0],
        "both": [3.0, 4.0],
        "none": [0.0, 0.0],
        "nan": [nan, 1.0],
        "inf": [1.0, inf],
        "minus": [-inf, 1.0],
        "past": [1e39, 1.0],
    }
    index: IndexConfig = {
        "dims": 2,
        "embed": lambda texts: [vectors[text] for text in texts],
        "fields": ["text"],
    }
    with PostgresStore.from_conn_string(postgres_url, index=index) as store:
        if not pgvector:
            store._pgvector = False
        for text in vectors:
            store.put(("n",), text, {"text": text})
        for query in vectors:
            found = {item.key: item.score for item in store.search(("n",), query=query)}
            alike = {"one": [1.0, 0.6], "both": [0.6, 1.0]}.get(query, [0.0, 0.0])
            scores = dict.fromkeys(vectors, 0.0) | dict(zip(["one", "both"], alike, strict=True))
            assert found == pytest.approx(scores)


def test_pgvector_in_a_schema_out_of_reach_is_none(postgres_server: Server) -> None:
    if not postgres_server.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        pytest.skip("the server has no pgvector")
    name = new_name()
    postgres_server.execute(f"CREATE DATABASE {name}")
    url = make_conninfo(postgres_server.url, dbname=name)
    with psycopg.connect(url) as conn:
        conn.execute("CREATE SCHEMA one; CREATE SCHEMA two")
    for schema, found in (("one", True), ("two", False)):  # the first one adds it, to its schema
        agents = make_conninfo(url, options=f"-csearch_path={schema}")
        with PostgresStore.from_conn_string(agents, index=INDEX) as store:
            store.put(("n",), "k", {"text": "sky"})
            assert [item.score for item in store.search(("n",), query="sky")] == [1.0]
            assert store._pgvector is found
        again = AsyncPostgresStore.from_conn_string(agents, index=INDEX)
        with again:
            [item] = asyncio.run(again.asearch(("n",), query="sky"))
            assert item.score == 1.0
            assert again._pgvector is found
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_vectors_of_another_length_are_a_named_error(postgres_url: str) -> None:
    with PostgresStore.from_conn_string(postgres_url, index=INDEX) as store:
        store.put(("n",), "k", {"text": "sky"})
    other: Any = {"dims": 2, "embed": lambda texts: [[1.0, 2.0] for _ in texts]}
    with (
        PostgresStore.from_conn_string(postgres_url, index=other) as store,
        pytest.raises(InvalidStoreOpError, match="2 dimensions, stored vectors have 6"),
    ):
        store.search(("n",), query="sky")


def test_expired_items_can_be_passed_over(postgres_url: str) -> None:
    with PostgresStore.from_conn_string(postgres_url, ttl={"omit_expired": True}) as store:
        for namespace, ttl in (("a", -1), ("u", -1), ("u", 1), ("v", -1)):
            store.put((namespace,), str(ttl), {"v": 1}, ttl=ttl)
        assert store.get(("u",), "-1") is None
        assert [item.key for item in store.search(("u",))] == ["1"]
        assert store.list_namespaces() == [("u",)]


class Meanwhile(str):
    """A text that does something when a search compares with it for the nth time."""

    __slots__ = ("happens", "left")
    __hash__ = str.__hash__

    left: int
    happens: Callable[[], None]

    def __eq__(self, other: object) -> bool:
        self.left -= 1
        if not self.left:
            self.happens()
        return str(self) == other


@pytest.mark.parametrize("comparison", [1, 400])
def test_what_is_put_again_while_a_search_goes_on_is_found(
    postgres_url: str, comparison: int
) -> None:
    with PostgresStore.from_conn_string(postgres_url) as store:
        store.batch([PutOp(("n",), "oldest", {"kind": "wanted"})])
        store.batch([PutOp(("n",), str(number), {"kind": "other"}) for number in range(600)])
        store.batch([PutOp(("n",), "newest", {"kind": "wanted"})])
        wanted = Meanwhile("wanted")
        wanted.left = comparison
        wanted.happens = lambda: store.put(("n",), "oldest", {"kind": "wanted"})
        found = store.search(("n",), filter={"kind": wanted})
        assert {item.key for item in found} == {"newest", "oldest"}


def test_puts_of_the_same_keys_in_any_order_do_not_stand_in_each_others_way(
    postgres_url: str,
) -> None:
    async def main() -> int:
        async with AsyncPostgresStore.from_conn_string(postgres_url, max_connections=8) as store:
            orders = [list(range(20)) for _ in range(40)]
            for seed, order in enumerate(orders):
                Random(seed).shuffle(order)
            batches = [[PutOp(("n",), str(k), {"seed": seed}) for k in order]
                       for seed, order in enumerate(orders)]  # fmt: skip
            await asyncio.gather(*map(store.abatch, batches))
            found = await store.asearch(("n",), limit=100)
            return len({item.value["seed"] for item in found}) if len(found) == 20 else 0

    assert asyncio.run(main()) == 1, "one batch was the last, and whole"


def near(index: dict[str, Any], url: str, pgvector: bool) -> list[tuple[str, float]]:
    """What a search finds, and the scores, compared by the server or here."""
    config: Any = {"dims": 2, "embed": vectors_of, "fields": ["text"], **index}
    with PostgresStore.from_conn_string(url, index=config) as store:
        store.setup()
        if not pgvector:
            store._pgvector = False
        for key, text in {"a": "1 1", "b": "4 4", "c": "-3 1"}.items():
            store.put(("d",), key, {"text": text})
        store.put(("d",), "none", {"other": "x"})
        found = store.search(("d",), query="2 1")
        return [(item.key, round(item.score, 5)) for item in found if item.score is not None]


def vectors_of(texts: Any) -> list[list[float]]:
    return [[*map(float, text.split())] for text in texts]


@pytest.mark.parametrize("pgvector", [True, False])
def test_the_distance_type_of_an_index_counts(postgres_url: str, pgvector: bool) -> None:
    by = [near({"distance_type": name}, postgres_url, pgvector) for name in ("l2", "inner_product")]
    assert by[0] == [("a", -1.0), ("b", round(-(13**0.5), 5)), ("c", -5.0)]
    assert by[1] == [("b", 12.0), ("a", 3.0), ("c", -5.0)]
    cosine = near({"distance_type": "cosine"}, postgres_url, pgvector)
    assert cosine == near({}, postgres_url, pgvector)
    assert {key for key, _ in cosine[:2]} == {"a", "b"}
    with pytest.raises(InvalidStoreOpError, match="hamming"):
        near({"distance_type": "hamming"}, postgres_url, pgvector)


async def test_who_waits_for_a_connection_is_patient_while_others_have_their_turns(
    postgres_url: str,
) -> None:
    async with AsyncPostgresStore.from_conn_string(
        postgres_url, pool_config={"max_size": 1}, timeout=0.5
    ) as store:
        await store.setup()
        run = store._database.arun
        gone = [0]

        def slow() -> Any:
            gone[0] += 1
            yield "SELECT pg_sleep(0.2)", ()

        await asyncio.gather(*(run(slow) for _ in range(6)))
        assert gone == [6]
