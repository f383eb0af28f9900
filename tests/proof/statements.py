"""Row 7: every text of SQL that savers and stores send, whatever names they are given.

What a call sends is heard where it leaves plait: at sqlite3's cursors, and on the wire to Postgres.
Each text must be one of those that harmless names have caused before.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from tests.durability.graphs import chain

from plait.checkpoint.base import empty_checkpoint
from plait.checkpoint.log.requests import ReadLane, Renew
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import InvalidStoreOpError
from plait.store.base import GetOp
from plait.store.postgres import PostgresStore
from plait.store.sqlite import SqliteStore
from plait.stored import alist_threads, find_thread, list_thread_ids, list_threads
from plait.testing import PostgresProxy
from plait.testing.savers import HOSTILE, SaverFace
from plait.testing.stores import HOSTILE as LABELS
from plait.types import Command, interrupt

from .parts import Figure, Scene

HARMLESS = ("plain", "long" * 150)
"""Long ones are stored apart, by statements of their own."""
TURNS = 8
"""How many seeds share the hostile names."""
OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")

Use = Callable[[Any, Any, str], Any]


# --- what is heard --------------------------------------------------------------------------------


@contextmanager
def sqlite_heard() -> Iterator[set[str]]:
    """The texts that all connections to SQLite are given meanwhile."""
    heard: set[str] = set()

    class Cursor(sqlite3.Cursor):
        def execute(self, sql: str, *values: Any) -> Any:
            heard.add(sql)
            return super().execute(sql, *values)

        def executemany(self, sql: str, *rows: Any) -> Any:
            heard.add(sql)
            return super().executemany(sql, *rows)

        def executescript(self, sql: str) -> Any:
            heard.add(sql)
            return super().executescript(sql)

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

        def execute(self, *args: Any) -> Any:
            return self.cursor().execute(*args)

        def executemany(self, *args: Any) -> Any:
            return self.cursor().executemany(*args)

        def executescript(self, *args: Any) -> Any:
            return self.cursor().executescript(*args)

    real = sqlite3.connect
    with patch("sqlite3.connect", lambda *args, **kw: real(*args, **{**kw, "factory": Connection})):
        yield heard


class Listening(PostgresProxy):
    """Hears the texts of queries: simple ones, and those that are parsed."""

    def __init__(self, url: str) -> None:
        self.heard: set[str] = set()
        super().__init__(url)

    def _cut_short(self, message: bytes) -> bytes:
        if message[:1] == b"Q":
            self.heard.add(message[5:-1].decode())
        elif message[:1] == b"P":
            self.heard.add(message[5:].split(b"\0")[1].decode())
        return super()._cut_short(message)


@contextmanager
def postgres_heard(url: str) -> Iterator[tuple[str, set[str]]]:
    """A URL to use, and the texts that the server gets through it."""
    with Listening(url) as proxy:
        yield proxy.url, proxy.heard


# --- what is called -------------------------------------------------------------------------------


async def use_saver(saver: Any, surface: Any, name: str) -> None:
    """All that a saver can be asked with names in it."""
    face = SaverFace(saver, surface)
    for ns in ("", name):
        at: Any = {"configurable": {"thread_id": name, "checkpoint_ns": ns}}
        facts: Any = {"source": name, "step": 1, name: name, "run_id": name}
        put = at
        for _ in range(2):
            point = empty_checkpoint()
            point["channel_values"] = {name: [name]}
            point["channel_versions"] = {name: "1"}
            put = await face.call("put", at, point, facts, {name: "1"})
            await face.call("put_writes", put, [(name, name)], name, name)
        for config in (at, put):
            await face.call("get_tuple", config)
        for wanted in ({name: name}, {"source": name}, {name: {"$gt": name}}, None):
            await face.list(at, filter=wanted, limit=3)
            await face.list(None, filter=wanted)
            await face.list(at, filter=wanted, before=put)
    await use_graph(saver, surface, f"{name}-graph")
    if surface == "async":
        assert [each async for each in alist_threads(saver)]
    assert list(list_threads(saver))
    assert name in list(list_thread_ids(saver))
    find_thread(saver, name)
    lane = saver.execute(ReadLane(name, ""))
    saver.renew(Renew([(lane.lane, lane.fence)], 1e9))  # else the clock says when
    await face.call("usage", name)
    await face.call("copy_thread", name, f"{name}-copy")
    await face.call("prune", [name, f"{name}-copy", f"{name}-graph"], keep_last=1)
    await face.call("prune", [name, f"{name}-copy"], older_than=timedelta(days=1))
    await face.call("sweep", ttl=1e9)
    await face.call("delete_for_runs", [name])
    for thread in (f"{name}-copy", f"{name}-graph", name):
        await face.call("delete_thread", thread)


async def use_graph(saver: Any, surface: Any, name: str) -> None:
    """A graph runs, asks, is answered, read, and changed."""
    nodes = [(each, lambda _: {"items": [name]}) for each in "ab"]
    graph = chain(saver, *nodes, ("ask", lambda _: {"items": [interrupt(name)]}))
    at: Any = {"configurable": {"thread_id": name}, "metadata": {"about": name}}
    for given in ({"items": [name]}, Command(resume=name)):
        if surface == "async":
            await graph.ainvoke(given, at)
        else:
            await asyncio.to_thread(graph.invoke, given, at)
    graph.update_state(at, {"items": [name]}, as_node="a")
    assert list(graph.get_state_history(at, filter={"about": name}))
    assert graph.get_state(at).next == ("b",)


async def use_store(store: Any, surface: Any, name: str) -> None:
    """All that a store can be asked with names in it."""

    async def call(method: str, *args: Any, **options: Any) -> Any:
        if surface == "async":
            return await getattr(store, f"a{method}")(*args, **options)
        return await asyncio.to_thread(getattr(store, method), *args, **options)

    place = (name, "sub")
    await call("put", place, name, {name: name, "n": 1})
    await call("put", (name,), f"{name}2", {name: {name: name}}, ttl=1000)
    await call("get", place, name)
    await call("batch", [GetOp(place, name), GetOp((name,), f"{name}2"), GetOp((name,), "no")])
    filters: list[Any] = [None, {name: name}, {name: {name: name}}]
    filters += [{name: {each: name}} for each in (*OPERATORS, f"${name}")]
    for wanted in filters:
        with suppress(InvalidStoreOpError):  # the last one is no operator that there is
            await call("search", (name,), filter=wanted, limit=5)
    await call("search", (name,), query=name, filter={name: name})
    for prefix, suffix in (((name,), None), (None, (name,)), (("*", "sub"), ("*",))):
        await call("list_namespaces", prefix=prefix, suffix=suffix, max_depth=1)
    await asyncio.to_thread(store.sweep_ttl)
    await call("delete", place, name)
    await call("delete", (name,), f"{name}2")


# --- the figures ----------------------------------------------------------------------------------


def in_sqlite(seed: int, scene: Scene) -> Figure:
    """What the saver and the store of SQLite send."""
    with sqlite_heard() as heard:
        with SqliteSaver(scene.folder / "threads.db") as saver:
            saver._database.fold()  # else the size of the log says when
            threads = sent(saver, use_saver, HOSTILE[seed % TURNS :: TURNS], heard)
        heard.clear()
        with SqliteStore(scene.folder / "items.db", index=INDEX, ttl={}) as store:
            store._database.fold()
            items = sent(store, use_store, LABELS[seed % TURNS :: TURNS], heard)
    return told(seed, threads, items)


def in_postgres(seed: int, scene: Scene) -> Figure:
    """What the saver and the store of Postgres send."""
    with postgres_heard(scene.db.target) as (url, heard):
        with PostgresSaver(url) as saver:
            threads = sent(saver, use_saver, HOSTILE[seed % TURNS :: TURNS], heard)
        heard.clear()
        with PostgresStore(url, index=INDEX, ttl={}) as store:
            items = sent(store, use_store, LABELS[seed % TURNS :: TURNS], heard)
    return told(seed, threads, items)


def sent(opened: Any, use: Use, names: Iterable[str], heard: set[str]) -> int:
    """Call all with harmless names and then with hostile ones; how many texts were heard."""

    async def both(some: Iterable[str]) -> None:
        for name in some:
            for surface in ("sync", "async"):
                await use(opened, surface, name)

    async def play() -> int:
        await both(HARMLESS)
        known = set(heard)
        for name in names:
            heard.clear()
            await both([name])
            new = heard - known
            assert not new, f"SQL depends on the name {name!r}: {sorted(new)}"
            assert heard, "nothing was heard"
        return len(known)

    return asyncio.run(play())


def told(seed: int, threads: int, items: int) -> Figure:
    """The figure."""
    names = sum(len(each[seed % TURNS :: TURNS]) for each in (HOSTILE, LABELS))
    return {
        "SQL texts of the saver": threads,
        "SQL texts of the store": items,
        "hostile names": names,
        "texts that depend on names": 0,
    }


def _embed(texts: Any) -> list[list[float]]:
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


INDEX: Any = {"dims": 3, "embed": _embed, "fields": ["$"]}
