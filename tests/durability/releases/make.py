"""Writes the database files of this release: `python -m tests.durability.releases.make`.

Threads and items in SQLite, as files, and in Postgres, as what pg_dump tells of their tables. Once
for each release, before it is published; files that exist are never written again. The graphs are
here, so that the test that loads the files runs the same code on them.
"""

from __future__ import annotations

import operator
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypedDict

from tests.postgres.server import Server

from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import START, StateGraph
from plait.graph.message import add_messages
from plait.messages import AIMessage, HumanMessage
from plait.store.postgres import PostgresStore
from plait.store.sqlite import SqliteStore
from plait.types import Command, Send, interrupt

HERE = Path(__file__).parent
DONE: Any = {"configurable": {"thread_id": "done"}}
WAITING: Any = {"configurable": {"thread_id": "waiting"}}
PLAIN = {"at": datetime(2026, 1, 1, tzinfo=UTC), "pair": (1, {2}), 3: b"bytes"}
PLAIN_ITEM = {"at": PLAIN["at"], "pair": (1, {2}), "bytes": b"bytes", "none": None}
SCHEMA = "plait_release"
"""What dumps call the schema that their tables were in."""


class State(TypedDict, total=False):
    """Keys of every kind of storage: whole values, lists that grow, dicts, messages."""

    items: Annotated[list[str], operator.add]
    facts: Annotated[dict[str, int], operator.or_]
    messages: Annotated[list[Any], add_messages]
    plain: dict[Any, Any]


def build(saver: Any) -> Any:
    """A fan-out, a graph inside a node, a question, an end."""
    inner: Any = StateGraph(State)
    inner.add_node("deep", lambda state: {"items": ["deep"]})
    inner.add_edge(START, "deep")
    builder: Any = StateGraph(State)
    builder.add_node("plan", lambda state: {"items": ["plan"], "plain": PLAIN})
    builder.add_node("work", lambda n: {"facts": {f"fact{n}": n}})
    said = [HumanMessage("hello", id="h"), AIMessage("well?", id="a")]
    builder.add_node("say", lambda state: {"messages": said})
    builder.add_node("inner", inner.compile())
    builder.add_node("ask", lambda state: {"items": [interrupt("go on?")]})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda _: [Send("work", n) for n in range(4)], ["work"])
    builder.add_edge("work", "say").add_edge("say", "inner").add_edge("inner", "ask")
    return builder.compile(checkpointer=saver)


def fill(saver: Any) -> None:
    """Threads: one that has ended, one that waits."""
    graph = build(saver)
    for config in (DONE, WAITING):
        graph.invoke({"items": ["start"]}, config)
    graph.invoke(Command(resume="yes"), DONE)


def fill_store(store: Any) -> None:
    """Items of every kind of value, with and without a time to live."""
    for n in range(20):
        store.put(("users", f"u{n % 3}"), f"k{n}", {"n": n, "even": n % 2 == 0})
    store.put(("odd", "x'); --"), "$.k", PLAIN_ITEM)
    store.put(("short",), "kept", {"here": True}, ttl=60 * 24 * 365 * 1000)
    store.put(("short",), "deleted", {"here": True})
    store.delete(("short",), "deleted")


def threads_in_sqlite(path: Path) -> None:
    """A file of the saver's."""
    with SqliteSaver(path) as saver:
        fill(saver)
    _one_file(path)


def items_in_sqlite(path: Path) -> None:
    """A file of the store's."""
    with SqliteStore(path) as store:
        fill_store(store)
    _one_file(path)


def _one_file(path: Path) -> None:
    """Without its log."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA journal_mode=DELETE")
        conn.execute("VACUUM")


def threads_in_postgres(path: Path, server: Server) -> None:
    """The tables of the saver's."""
    with server.database() as url:
        with PostgresSaver(url) as saver:
            fill(saver)
        path.write_text(server.dump(url, SCHEMA))


def items_in_postgres(path: Path, server: Server) -> None:
    """The tables of the store's."""
    with server.database() as url:
        with PostgresStore(url) as store:
            fill_store(store)
        path.write_text(server.dump(url, SCHEMA))


WRITERS: dict[str, Any] = {
    "threads.db": threads_in_sqlite,
    "items.db": items_in_sqlite,
    "threads.sql": threads_in_postgres,
    "items.sql": items_in_postgres,
}
"""The files of a release, and who writes them."""


def main() -> None:
    """Write the files of this release that do not exist yet."""
    folder = HERE / version("plait")
    folder.mkdir(exist_ok=True)
    missing = [folder / name for name in WRITERS if not (folder / name).exists()]
    if not missing:
        raise SystemExit(f"{folder} is whole: files of releases are never written again.")
    server = Server.find()
    try:
        for path in missing:
            write = WRITERS[path.name]
            write(path, server) if path.suffix == ".sql" else write(path)
            print(f"{path}: {path.stat().st_size} bytes")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
