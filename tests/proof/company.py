"""Row 12: processes that do as they like with the same few threads, while some of them are killed.

Nobody says who comes first: what a seed decides is what each process tries, in which order, and at
which storage request one of them dies.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from sqlite3 import connect
from typing import Annotated, Any, TypedDict, cast
from warnings import simplefilter

from tests.durability.savers import Place

from plait.errors import ConfigError, RunError, UnusedAnswerWarning
from plait.graph import END, START, StateGraph
from plait.testing import FaultySaver, fork, until_done
from plait.types import Command, Send, interrupt

from .parts import Figure, Scene

KEPT = "kept"
"""A thread of which nothing is ever deleted: what was acknowledged there can be looked for."""
THREADS = [KEPT, "a", "b", "c"]
COPIES = ["copy of one", "copy of another"]
TRIES = 60
"""What each of two threads of a process tries."""
LONG = "x" * 600
"""Beside what is written, so that nested graphs borrow lists and lists are stored in pieces."""


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    turn: int
    said: str


class Said(TypedDict, total=False):
    said: str


def build(saver: Any) -> Any:
    """A loop with a fan-out, a graph inside that asks sometimes, and a question."""

    def asks_inside(state: State) -> dict[str, Any]:
        asks = state.get("turn", 0) % 2
        return {"said": interrupt("inside?") if asks else "nothing"}

    inner: Any = StateGraph(State, output_schema=Said)
    inner.add_node("asks", asks_inside)
    inner.add_edge(START, "asks")
    graph: Any = StateGraph(State)
    graph.add_node("begin", lambda state: {"log": ["begin"], "turn": state.get("turn", 0) + 1})
    graph.add_node("wide", lambda given: {"log": [f"wide {given} {LONG}"]})
    graph.add_node("inner", inner.compile())
    graph.add_node("ask", lambda state: {"log": [f"asked {interrupt('?')}"]})
    graph.add_edge(START, "begin")
    graph.add_conditional_edges(
        "begin", lambda state: [Send("wide", n) for n in range(3)], ["wide"]
    )
    graph.add_edge("wide", "inner")
    graph.add_edge("inner", "ask")
    graph.add_conditional_edges(
        "ask", lambda state: "begin" if state.get("turn", 0) % 3 else END, ["begin", END]
    )
    return graph.compile(checkpointer=saver)


class Person:
    """One who does as he likes.

    Args:
        graph: The graph, on the saver that is used.
        chance: Decides what is tried.
        name: Goes into whatever is written.
    """

    def __init__(self, graph: Any, chance: Random, name: str) -> None:
        self.graph, self.chance = graph, chance
        self.acknowledged: list[str] = []
        """What was written to the thread that is kept."""
        self._names = map(f"{name}.{{}}".format, count())

    def tries(self) -> bool:
        """Something, at some thread; whether it was done (and not refused)."""
        thread = self.chance.choice(THREADS)
        config: Any = {"configurable": {"thread_id": thread}}
        tried = self.chance.choice(TRIED if thread != KEPT else HARMLESS)
        mark = next(self._names)
        try:
            is_written = tried(self, config, mark)
        except (RunError, ConfigError) as error:
            if isinstance(error, ConfigError) and not str(error).startswith(NO_THREAD):
                raise
            return False
        if thread == KEPT and is_written:
            self.acknowledged.append(mark)
        return True

    def invoke(self, config: Any, mark: str) -> bool:
        self.graph.invoke({"log": [mark], "turn": 0}, config)
        return True

    def ainvoke(self, config: Any, mark: str) -> bool:
        asyncio.run(self.graph.ainvoke({"log": [mark], "turn": 0}, config))
        return True

    def answer(self, config: Any, mark: str) -> bool:
        return mark in str(self.graph.invoke(Command(resume=mark), config))

    def stream(self, config: Any, mark: str) -> bool:
        for _ in self.graph.stream(Command(resume=mark), config, subgraphs=True):
            pass
        return False

    def leave(self, config: Any, mark: str) -> bool:
        """Close a stream after the first super-step: its input is stored."""
        with closing(self.graph.stream({"log": [mark], "turn": 0}, config)) as chunks:
            next(chunks)
        return True

    def go_on(self, config: Any, mark: str) -> bool:
        self.graph.invoke(None, config)
        return False

    def update(self, config: Any, mark: str) -> bool:
        self.graph.update_state(
            config, {"log": [mark]}, as_node=self.chance.choice(["begin", "ask"])
        )
        return True

    def _earlier(self, config: Any) -> Any:
        found = list(self.graph.get_state_history(config, limit=8))
        return self.chance.choice(found).config if found else config

    def fork(self, config: Any, mark: str) -> bool:
        return self.update(self._earlier(config), mark)

    def replay(self, config: Any, mark: str) -> bool:
        return self.go_on(self._earlier(config), mark)

    def read(self, config: Any, mark: str) -> bool:
        for snapshot in self.graph.get_state_history(config):
            assert snapshot.created_at
        self.graph.get_state(config, subgraphs=True)
        return False

    def list(self, config: Any, mark: str) -> bool:
        for asked in (config, None):
            for each in self.graph.checkpointer.list(asked, limit=20):
                assert each.checkpoint["id"]
        return False

    def copy(self, config: Any, mark: str) -> bool:
        target = self.chance.choice(COPIES)
        self.graph.checkpointer.delete_thread(target)
        try:
            self.graph.checkpointer.copy_thread(config["configurable"]["thread_id"], target)
        except ConfigError as error:
            if "exists" not in str(error):  # somebody else copied there meanwhile
                raise
        return False

    def prune(self, config: Any, mark: str) -> bool:
        name = config["configurable"]["thread_id"]
        self.graph.checkpointer.prune([name], keep_last=self.chance.choice([1, 5]))
        return False

    def delete(self, config: Any, mark: str) -> bool:
        self.graph.checkpointer.delete_thread(config["configurable"]["thread_id"])
        return False


NO_THREAD = "There is no thread"
P = Person
HARMLESS: list[Callable[[Person, Any, str], bool]] = [
    P.invoke, P.ainvoke, P.answer, P.answer, P.answer, P.stream, P.leave, P.go_on, P.update,
    P.fork, P.replay, P.read, P.list, P.copy,
]  # fmt: skip
TRIED = [*HARMLESS, P.prune, P.prune, P.delete]


def everybody(seed: int, scene: Scene) -> Figure:
    """Three processes of two threads each; one of them dies at some storage request."""
    point = Random(seed).randint(1, 1000)
    children = [
        fork(lambda tell, n=n: _work(tell, scene.db, f"{seed}.{n}", point if n == 0 else 0))
        for n in range(3)
    ]
    done, acknowledged = 0, set[str]()
    try:
        for child in children:
            while line := child.hear():
                if not line.startswith("{"):
                    raise AssertionError("\n".join([line, *_rest(child)]))
                told = json.loads(line)
                done += told["done"]
                acknowledged |= set(told["acknowledged"])
        deaths = sum(child.wait() != 0 for child in children)
    finally:
        for child in children:
            child.kill()
    checkpoints = check(scene.db, acknowledged)
    return {
        "rounds": 1,
        "operations": done,
        "kills": deaths,
        "checkpoints looked at": checkpoints,
        "lost or broken": 0,
    }


def _rest(child: Any) -> Iterator[str]:
    while line := child.hear():
        yield line


def _work(tell: Callable[[str], Any], db: Place, name: str, point: int) -> None:
    simplefilter("ignore", UnusedAnswerWarning)  # another process went back, and asks anew
    with db.open() as inner:
        graph = build(FaultySaver(inner, at=point, fault="kill") if point else inner)

        def work(n: int) -> None:
            person = Person(graph, Random(f"{name}.{n}"), f"{name}.{n}")
            for _ in range(TRIES):
                done = person.tries()
                tell(json.dumps({"done": done, "acknowledged": person.acknowledged}))
                person.acknowledged.clear()

        with ThreadPoolExecutor(2) as two:
            list(two.map(work, range(2)))


def check(db: Place, acknowledged: set[str]) -> int:
    """What is stored is whole, holds what was acknowledged, and every thread goes to its end.

    Returns:
        How many checkpoints were looked at.
    """
    if db.kind == "sqlite":
        with closing(connect(cast("Path", db.target))) as plain:
            assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    seen = 0
    with db.open() as saver:
        graph = build(saver)
        for thread in [*THREADS, *COPIES]:
            config: Any = {"configurable": {"thread_id": thread}}
            stored = _stored(saver, config)
            seen += len(stored)
            if thread == KEPT:
                logs = [entry for state in stored.values() for entry in state.get("log", [])]
                said = [state.get("said", "") for state in stored.values()]
                written = {*said, *(entry.rsplit(" ", 1)[-1] for entry in logs)}
                assert acknowledged <= written, acknowledged - written
            assert all(each.created_at for each in graph.get_state_history(config))
            if stored:
                until_done(graph, None, config, answer="on")
    return seen


def _stored(saver: Any, config: Any) -> dict[tuple[str, str], State]:
    """What each checkpoint holds, by namespace and id; each goes on from what its parent holds."""
    stored: dict[tuple[str, str], State] = {}
    parents: dict[tuple[str, str], tuple[str, str]] = {}
    for each in saver.list(config):
        at = each.config["configurable"]
        key = (at["checkpoint_ns"], at["checkpoint_id"])
        stored[key] = each.checkpoint["channel_values"]
        if each.parent_config is not None:
            parents[key] = (key[0], each.parent_config["configurable"]["checkpoint_id"])
    for key, state in stored.items():
        log = state.get("log", [])
        marks = [entry for entry in log if entry[:1].isdigit()]
        assert len(marks) == len(set(marks)), (key, marks)
        parent = stored.get(parents.get(key, key))  # None: pruned
        if parent is not None and not key[0]:  # a graph inside begins anew with what it is given
            before = parent.get("log", [])
            assert log[: len(before)] == before, (key, before, log)
    return stored
