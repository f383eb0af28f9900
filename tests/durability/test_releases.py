"""Database files that each release wrote, kept in the repository: all load, and threads go on.

Of Postgres, they are dumps of its tables.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.postgres.server import Server

from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.store.postgres import PostgresStore
from plait.store.sqlite import SqliteStore
from plait.types import Command

from .releases.make import DONE, HERE, PLAIN, PLAIN_ITEM, SCHEMA, WAITING, WRITERS, build

THREADS = sorted(HERE.glob("*/threads.*"))
ITEM_FILES = sorted(HERE.glob("*/items.*"))
ITEMS = ["start", "plan", "start", "plan", "deep"]


def test_the_files_of_this_release_are_among_them() -> None:
    for name in WRITERS:
        assert HERE / version("plait") / name in THREADS + ITEM_FILES


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


@contextmanager
def loaded(request: pytest.FixtureRequest, folder: Path) -> Iterator[Any]:
    """What a saver or store is opened with, to find what the file holds."""
    path: Path = request.param
    if path.suffix == ".db":
        yield shutil.copy(path, folder / "copy.db")
        return
    server: Server = request.getfixturevalue("postgres_server")
    with server.database() as url:
        server.load(url, path.read_text(), SCHEMA)
        yield url


@pytest.fixture(params=THREADS, ids=named)
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kind = SqliteSaver if request.param.suffix == ".db" else PostgresSaver
    with loaded(request, tmp_path) as target, kind(target) as saver:
        yield saver


@pytest.fixture(params=ITEM_FILES, ids=named)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kind = SqliteStore if request.param.suffix == ".db" else PostgresStore
    with loaded(request, tmp_path) as target, kind(target) as store:
        yield store


def test_a_finished_thread_reads_back_whole(saver: Any) -> None:
    state = build(saver).get_state(DONE)
    assert state.next == ()
    assert state.values["items"] == [*ITEMS, "yes"]
    assert state.values["facts"] == {f"fact{n}": n for n in range(4)}
    assert [message.content for message in state.values["messages"]] == ["hello", "well?"]
    assert state.values["plain"] == PLAIN
    steps = [each.metadata["step"] for each in build(saver).get_state_history(DONE)]
    assert steps == list(range(5, -2, -1))


def test_a_waiting_thread_is_answered_and_goes_on(saver: Any) -> None:
    graph = build(saver)
    assert [each.value for each in graph.get_state(WAITING).interrupts] == ["go on?"]
    assert graph.invoke(Command(resume="no"), WAITING)["items"] == [*ITEMS, "no"]


def test_old_checkpoints_are_forked(saver: Any) -> None:
    graph = build(saver)
    history = list(graph.get_state_history(DONE))
    assert len(history) > 1
    for snapshot in history:
        fork = graph.update_state(snapshot.config, {"items": ["fork"]}, as_node="ask")
        assert graph.get_state(fork).values["items"][-1] == "fork"


def history(graph: Any, at: Any) -> list[Any]:
    return [(each.values, each.next, each.metadata) for each in graph.get_state_history(at)]


def test_threads_are_copied_and_pruned_and_the_copies_stay(saver: Any) -> None:
    graph = build(saver)
    right, state = history(graph, DONE), graph.get_state(DONE).values
    done, waiting = (each["configurable"]["thread_id"] for each in (DONE, WAITING))
    saver.copy_thread(done, "copy")
    saver.copy_thread(waiting, "waits too")
    saver.prune([done, waiting], strategy="keep_latest")
    copy: Any = {"configurable": {"thread_id": "copy"}}
    waits: Any = {"configurable": {"thread_id": "waits too"}}
    assert [each.values for each in graph.get_state_history(DONE)] == [state]
    assert history(graph, copy) == right
    for at in (waits, WAITING):
        assert graph.invoke(Command(resume="no"), at)["items"] == [*ITEMS, "no"]
    saver.delete_thread(done)
    assert graph.get_state(copy).values == state


def test_items_read_back_whole(store: Any) -> None:
    found = store.search(("users",), filter={"even": True}, limit=100)
    assert sorted(item.value["n"] for item in found) == list(range(0, 20, 2))
    assert {item.namespace for item in found} == {("users", f"u{n}") for n in range(3)}
    assert store.get(("odd", "x'); --"), "$.k").value == PLAIN_ITEM
    assert store.get(("short",), "kept").value == {"here": True}
    assert store.get(("short",), "deleted") is None
    assert len(store.list_namespaces(limit=100)) == 5


def test_items_are_changed_and_deleted(store: Any) -> None:
    created = store.get(("users", "u0"), "k0").created_at
    store.put(("users", "u0"), "k0", {"n": 100})
    item = store.get(("users", "u0"), "k0")
    assert (item.value, item.created_at) == ({"n": 100}, created)
    assert item.updated_at > created
    store.delete(("users", "u0"), "k0")
    assert store.get(("users", "u0"), "k0") is None
