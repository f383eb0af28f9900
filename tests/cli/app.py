"""The program whose threads the commands look at."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

from plait.graph import START, StateGraph
from plait.runtime import Runtime
from plait.stored import StoredThread
from plait.timers import sleep
from plait.types import interrupt


class State(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]
    wait: float


def note(state: State) -> Any:
    return {"items": ["noted"]}


def pause(state: State) -> Any:
    if "wait" in state:
        sleep(state["wait"])
    if "fail" in state["items"]:
        raise ValueError("beyond repair")
    if "ask" in state["items"]:
        return {"items": [interrupt("[b]well?[/b]")]}
    return {"items": ["woke"]}


builder = StateGraph(State).add_node(note).add_node(pause)
builder.add_edge(START, "note").add_edge("note", "pause")
graph = builder.compile()


def fill(saver: Any) -> None:
    """Threads at their end, asking, sleeping for long, sleeping no more, and about to fail."""
    runs: Any = builder.compile(checkpointer=saver)
    for name, given in {
        "done": {"items": ["x" * 2000]},
        "asks": {"items": ["ask"]},
        "sleeps": {"items": [], "wait": 10_000_000},
        "due": {"items": [], "wait": 1e-5},
        "fails": {"items": ["fail"], "wait": 1e-5},
    }.items():
        runs.invoke(given, {"configurable": {"thread_id": name, "thread_ttl": 1e9}})


@dataclass
class Whose:
    user: str


def nap(state: State, runtime: Runtime[Whose]) -> Any:
    sleep(1e-5)
    return {"items": [f"of {runtime.context.user}"]}


whose = StateGraph(State, context_schema=Whose).add_node(nap).add_edge(START, "nap")


def options_of(thread: StoredThread) -> Any:
    return {"context": Whose(thread.metadata["user"])}


HERE = Path(__file__).parent
