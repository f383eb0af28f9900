"""Another process deletes a thread between two reads of it: whoever reads finds what was there or
that nothing is, and is not told that the database is damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from plait import START, InMemorySaver, SqliteSaver, StateGraph
from plait.errors import CorruptCheckpointError, ThreadBusyError

THREAD: Any = {"configurable": {"thread_id": "1"}}
DEEPEST = 12
"""No look at the thread below takes more requests."""


class State(TypedDict, total=False):
    log: Annotated[list[str], add]
    text: str


def graph(saver: Any) -> Any:
    """Its values are long enough to have rows of their own."""
    builder = StateGraph(State)
    builder.add_node("say", lambda state: {"log": ["x" * 600], "text": "y" * 5000})
    return builder.add_edge(START, "say").compile(checkpointer=saver)


def interrupted(kind: Any, *given: Any) -> tuple[Any, list[Callable[[], None]]]:
    """A saver, and what it does before each of its reads, the first that is due first."""
    due: list[Callable[[], None]] = []

    class Interrupted(kind):
        def execute(self, request: Any) -> Any:
            if due and type(request).__name__.startswith("Read"):
                due.pop(0)()
            return super().execute(request)

    return Interrupted(*given), due


def nothing() -> None:
    """The other process does something else."""


LOOKS: dict[str, Callable[[Any], Any]] = {
    "state": lambda app: app.get_state(THREAD).values,
    "history": lambda app: [each.values for each in app.get_state_history(THREAD)],
    "tuple": lambda app: app.checkpointer.get_tuple(THREAD),
    "turn": lambda app: app.invoke({"log": ["more"]}, THREAD),
}


@pytest.mark.parametrize("begins_anew", [False, True])
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_thread_is_deleted_while_it_is_read(
    tmp_path: Path, kind: str, look: Callable[[Any], Any], begins_anew: bool
) -> None:
    for reads in range(DEEPEST):
        path = tmp_path / f"{reads}.db"
        saver, due = interrupted(*((InMemorySaver,) if kind == "memory" else (SqliteSaver, path)))
        other = saver if kind == "memory" else SqliteSaver(path)
        for _ in range(30):
            graph(other).invoke({"log": ["before"]}, THREAD)

        def delete(other: Any = other) -> None:
            other.delete_thread("1")
            if begins_anew:
                graph(other).invoke({"log": ["anew"]}, THREAD)

        due += [*[nothing] * reads, delete]
        with suppress(ThreadBusyError):  # a turn had read it before
            look(graph(saver))
        if kind == "sqlite":
            saver.close()
            other.close()


def test_what_is_missing_in_a_thread_that_is_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver:
        for _ in range(30):
            graph(saver).invoke({"log": ["before"]}, THREAD)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM versions")
    with SqliteSaver(path) as saver:
        for look in LOOKS.values():
            with pytest.raises(CorruptCheckpointError, match="is missing"):
                look(graph(saver))
