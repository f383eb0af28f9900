"""The survey as a graph: find the documents, inspect each, reduce, ask a person, publish.

Six functions and eleven lines that tie them together. What stands in the database after every
step, and after every inspected document, is enough for any later process to go on.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from inspection import Finding, documents, inspect_document
from report import compose_report

from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import END, START, StateGraph
from plait.graph.state import CompiledStateGraph
from plait.runtime import Runtime
from plait.types import Command, Overwrite, Send, interrupt

AT_ONCE = 4
"""Documents that are in work at the same time."""


class Survey(TypedDict):
    """The state: what is kept in the database, step by step."""

    documents: list[str]
    findings: Annotated[list[Finding], operator.add]
    report: str
    written: str


@dataclass(frozen=True)
class Place:
    """The context: where things are on this machine. Given to each run anew, never stored."""

    root: Path
    out: Path

    @property
    def thread(self) -> Any:
        """The survey of this folder: its thread in the database, and how many tasks run at once."""
        return {"configurable": {"thread_id": str(self.root)}, "max_concurrency": AT_ONCE}


def find(state: Survey, runtime: Runtime[Place]) -> dict[str, Any]:
    """List the documents."""
    return {"documents": documents(runtime.context.root, runtime.context.out)}


def fan_out(state: Survey) -> list[Send]:
    """One task for each document, however many there are."""
    return [Send("inspect", path) for path in state["documents"]]


def inspect(path: str, runtime: Runtime[Place]) -> dict[str, Any]:
    """Inspect one document, and leave a trace of having begun in a file that only grows."""
    note_effect(runtime, path)
    return {"findings": [inspect_document(runtime.context.root, path)]}


def compose(state: Survey) -> dict[str, Any]:
    """Reduce the findings to a report. They come in the documents' order, whoever was first."""
    return {"report": compose_report(state["findings"])}


def approve(state: Survey) -> Command[Literal["publish", "__end__"]]:
    """Stop for a person. The process may end here; the question waits in the database."""
    answer = interrupt({"report": state["report"], "question": "Write this report?"})
    return Command(goto="publish" if answer else "__end__")


def publish(state: Survey, runtime: Runtime[Place]) -> dict[str, Any]:
    """Write the report. Writing it twice is harmless: a node may run again after a crash."""
    path = runtime.context.out / "report.md"
    path.write_text(state["report"], "utf-8")
    return {"written": str(path)}


def build(saver: SqliteSaver, inspect: Callable[..., Any] = inspect) -> CompiledStateGraph:
    """The graph. `inspect` can be replaced, which kill.py does to catch tasks in flight."""
    builder = StateGraph(Survey, context_schema=Place)
    builder.add_node(find)
    builder.add_node("inspect", inspect)
    builder.add_node(compose)
    builder.add_node(approve)
    builder.add_node(publish)
    builder.add_edge(START, "find")
    builder.add_conditional_edges("find", fan_out, ["inspect"])
    builder.add_edge("inspect", "compose")
    builder.add_edge("compose", "approve")
    builder.add_edge("publish", END)
    return builder.compile(checkpointer=saver)


def note_effect(runtime: Runtime[Place], path: str) -> None:
    """Append "process, task id, document" to the effects file: one write, so lines stay whole."""
    assert runtime.execution_info is not None
    line = f"{os.getpid()} {runtime.execution_info.task_id} {path}\n"
    with open(runtime.context.out / "effects.log", "ab", buffering=0) as effects:
        effects.write(line.encode())


def database(place: Place) -> SqliteSaver:
    """Where the survey's thread lives: one SQLite file, opened by whoever works on it."""
    return SqliteSaver.from_conn_string(str(place.out / "survey.sqlite"))


def go_on(graph: CompiledStateGraph, place: Place) -> Iterator[str]:
    """Run up to the question, from the start or from where an earlier process stopped.

    Yields the path of each document whose finding is now safe in the database.
    """
    now = graph.get_state(place.thread)
    if now.interrupts:
        return  # the question of an earlier run still waits
    given = None if now.next else {"findings": Overwrite([])}  # None goes on with what is stored
    for update in graph.stream(given, place.thread, context=place, stream_mode="updates"):
        if "inspect" in update and not is_retold(update):
            yield from (finding.path for finding in update["inspect"]["findings"])


def is_retold(update: dict[str, Any]) -> bool:
    """Whether an update tells what an earlier process did; a resumed step tells those first."""
    return update.get("__metadata__", {}).get("cached", False)
