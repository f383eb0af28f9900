"""Threads that are pruned and deleted between two requests of whoever reads them.

Every kind of read is cut at every request. What it shows must be as it was stored, or be gone: it
must not say that the database is damaged.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import count, product
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import (
    CorruptCheckpointError,
    ThreadBusyError,
    UnknownCheckpointError,
    UnknownInterruptError,
)
from plait.graph import END, START, StateGraph
from plait.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}
INSIDE: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "inner"}}
REFUSED = (ThreadBusyError, UnknownCheckpointError, UnknownInterruptError)
ROUNDS = 3


class State(TypedDict):
    items: Annotated[list[str], operator.add]
    notes: Annotated[dict[str, str], operator.or_]
    text: str


def build(saver: Any) -> Any:
    """A list and a dict that grow, a graph inside that borrows the list, and a question."""
    inner = StateGraph(State)
    inner.add_node("read", lambda state: {"text": f"{len(state['items'])} items"})
    inner.add_edge(START, "read")

    def write(state: State) -> Any:
        number = len(state["items"])
        long = "a note " * 100  # it has a row of its own
        return {"items": [f"{number} " * 20], "notes": {str(number): long}}

    builder = StateGraph(State)
    builder.add_node("write", write)
    builder.add_node("inner", inner.compile(checkpointer=True))
    builder.add_node("ask", lambda state: {"text": interrupt("more?")})
    builder.add_edge(START, "write").add_edge("write", "inner")
    builder.add_conditional_edges(
        "inner", lambda state: "ask" if len(state["items"]) % ROUNDS == 0 else "write"
    )
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=saver)


def told(graph: Any) -> dict[str, Any]:
    """What each checkpoint of the thread holds, by its id."""
    found = graph.checkpointer.list(CONFIG)
    return {each.checkpoint["id"]: each.checkpoint["channel_values"] for each in found}


def by_id(snapshots: Any) -> dict[str, Any]:
    """What snapshots hold, by the ids of their checkpoints. One that is gone was never made."""
    found = [each for each in snapshots if each.created_at is not None]
    return {each.config["configurable"]["checkpoint_id"]: each.values for each in found}


def listed(found: Any) -> dict[str, Any]:
    """What tuples hold, by the ids of their checkpoints."""
    return {each.checkpoint["id"]: each.checkpoint["channel_values"] for each in found if each}


def oldest(graph: Any) -> Any:
    """A config that names the oldest checkpoint but some, which is not the head."""
    return [*graph.get_state_history(CONFIG)][-5].config


SHOWS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "get_state": lambda graph, old: by_id([graph.get_state(CONFIG, subgraphs=True)]),
    "get_state of an old one": lambda graph, old: by_id([graph.get_state(old)]),
    "history": lambda graph, old: by_id(graph.get_state_history(CONFIG)),
    "history by filter": lambda graph, old: by_id(
        graph.get_state_history(CONFIG, filter={"source": "loop"})
    ),
    "history, one": lambda graph, old: by_id(graph.get_state_history(CONFIG, limit=1)),
    "get_tuple": lambda graph, old: listed([graph.checkpointer.get_tuple(CONFIG)]),
    "list": lambda graph, old: listed(graph.checkpointer.list(CONFIG)),
    "list of all": lambda graph, old: listed(graph.checkpointer.list(None)),
    "list by filter": lambda graph, old: listed(
        graph.checkpointer.list(None, filter={"source": "loop"})
    ),
}
GOES_ON: dict[str, Callable[[Any, Any], Any]] = {
    "resume": lambda graph, old: graph.invoke(Command(resume="no"), CONFIG),
    "new input": lambda graph, old: graph.invoke({"text": "more"}, CONFIG),
    "replay": lambda graph, old: graph.invoke(None, old),
    "update": lambda graph, old: graph.update_state(CONFIG, {"text": "mine"}),
    "fork": lambda graph, old: graph.update_state(old, {"text": "mine"}),
    "fork, and run it": lambda graph, old: graph.invoke(
        None, graph.update_state(old, {"text": "mine"})
    ),
    "update inside": lambda graph, old: graph.update_state(INSIDE, {"text": "its"}),
    "usage": lambda graph, old: graph.checkpointer.usage("t"),
}
"""Reads that show nothing, or mean to write: those are refused, or go on from what there is."""


def begin_anew(saver: Any) -> None:
    saver.delete_thread("t")
    build(saver).invoke({"items": [], "notes": {}, "text": "new"}, CONFIG)


MEANWHILE: dict[str, Callable[[Any], Any]] = {
    "prune": lambda saver: saver.prune(["t"], keep_last=2),
    "delete": lambda saver: saver.delete_thread("t"),
    "delete and begin anew": begin_anew,
}


def cut(saver: Any, at: int, work: Callable[[Any], Any], patch: pytest.MonkeyPatch) -> list[int]:
    """From now on, do some work before the request of this number. Returns the requests that were
    seen: one, for each of them."""
    seen: list[int] = []
    execute = saver.execute

    def cutting(request: Any) -> Any:
        seen.append(at)
        if len(seen) == at + 1:
            patch.setattr(saver, "execute", execute)
            try:
                work(saver)
            except ThreadBusyError:
                pass  # the reader means to write, and has the thread
            patch.setattr(saver, "execute", cutting)
        return execute(request)

    patch.setattr(saver, "execute", cutting)
    return seen


@pytest.fixture
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Any]:
    """What opens a saver that holds nothing."""
    paths = map("{}.db".format, count())

    def open_one(kind: str) -> Any:
        if kind == "memory":
            return nullcontext(InMemorySaver())
        if kind == "sqlite":
            return SqliteSaver(tmp_path / next(paths))
        return _emptied(request.getfixturevalue("postgres_url"))

    return open_one


@contextmanager
def _emptied(url: str) -> Iterator[Any]:
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        saver.delete_thread("t")
        yield saver


def cases(reads: Any, slow: tuple[str, ...]) -> Any:
    """Each read, with what happens meanwhile, in memory and in SQLite; some on a server."""
    found = [*product(("memory", "sqlite"), reads, MEANWHILE)]
    return pytest.mark.parametrize(
        ("kind", "how", "what"), [*found, *product(("postgres",), slow, ("delete",))]
    )


def threads(opening: Callable[[str], Any], kind: str) -> Iterator[tuple[int, Any, Any]]:
    """One like the other: the request that is to be cut, the graph, and a checkpoint of it that is
    not the head."""
    for at in count():
        with opening(kind) as saver:
            graph = build(saver)
            graph.invoke({"items": [], "notes": {}, "text": ""}, CONFIG)
            yield at, graph, oldest(graph)


@cases(SHOWS, ("list",))
def test_what_is_read_is_whole_or_gone(
    opening: Callable[[str], Any], kind: str, how: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at, graph, old in threads(opening, kind):
        before = told(graph)
        requests = cut(graph.checkpointer, at, MEANWHILE[what], monkeypatch)
        shown = SHOWS[how](graph, old)
        monkeypatch.undo()
        anew = {} if shown.keys() <= before.keys() else told(graph)
        for id, values in shown.items():
            assert _held(values) == _held(before.get(id) or anew[id]), (at, id)
        if len(requests) <= at:  # the read was over before
            assert shown, "it shows nothing of a whole thread"
            return


@cases(GOES_ON, ("resume", "fork"))
def test_what_goes_on_is_refused_or_goes_on_from_what_there_is(
    opening: Callable[[str], Any], kind: str, how: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at, graph, old in threads(opening, kind):
        requests = cut(graph.checkpointer, at, MEANWHILE[what], monkeypatch)
        with suppress(*REFUSED):
            GOES_ON[how](graph, old)
        monkeypatch.undo()
        told(graph)  # nothing that is left is damaged
        if len(requests) <= at:
            return


def _held(values: Any) -> Any:
    return {name: values[name] for name in ("items", "notes") if values.get(name)}


@pytest.mark.parametrize("how", ["get_state", "history", "get_tuple", "list", "list of all"])
def test_damage_is_told(how: str, tmp_path: Path) -> None:
    with SqliteSaver(tmp_path / "threads.db") as saver:
        graph = build(saver)
        graph.invoke({"items": [], "notes": {}, "text": ""}, CONFIG)
        old = oldest(graph)
    with SqliteSaver(tmp_path / "threads.db") as saver:
        saver.prune(["t"], keep_last=1)
        drop = "DELETE FROM versions WHERE channel = 'items'"
        assert saver._database.transact(lambda conn: conn.execute(drop).rowcount)
        with pytest.raises(CorruptCheckpointError, match="'items'"):
            SHOWS[how](build(saver), old)
