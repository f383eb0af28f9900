"""Writes the database file of this release: `python -m tests.durability.releases.make`.

Once for each release, before it is published; files of earlier releases are never written again.
The graphs are here, so that the test that loads the files runs the same code on them.
"""

from __future__ import annotations

import operator
import sqlite3
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypedDict

from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import START, StateGraph
from plait.graph.message import add_messages
from plait.messages import AIMessage, HumanMessage
from plait.types import Command, Send, interrupt

HERE = Path(__file__).parent
DONE: Any = {"configurable": {"thread_id": "done"}}
WAITING: Any = {"configurable": {"thread_id": "waiting"}}
PLAIN = {"at": datetime(2026, 1, 1, tzinfo=UTC), "pair": (1, {2}), 3: b"bytes"}


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


def main() -> None:
    """Write the file of this release, which must not exist."""
    folder = HERE / version("plait")
    folder.mkdir(exist_ok=True)
    path = folder / "threads.db"
    if path.exists():
        raise SystemExit(f"{path} exists: files of releases are never written again.")
    with SqliteSaver(path) as saver:
        graph = build(saver)
        for config in (DONE, WAITING):
            graph.invoke({"items": ["start"]}, config)
        graph.invoke(Command(resume="yes"), DONE)
    with sqlite3.connect(path) as conn:  # one file, without its log
        conn.execute("PRAGMA journal_mode=DELETE")
        conn.execute("VACUUM")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
