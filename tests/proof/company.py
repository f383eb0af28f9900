"""Row 12: people who do as they like with the same few threads, from threads, event loops and
processes, of which one is killed.

Nobody says who comes first: what a seed decides is what each of them tries, in which order, and at
which storage request a process dies.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from itertools import count
from pathlib import Path
from random import Random
from sqlite3 import connect
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, cast
from warnings import simplefilter

from plait.checkpoint.memory import InMemorySaver
from plait.errors import ConfigError, RunError, UnusedAnswerWarning
from plait.graph import END, START, StateGraph
from plait.testing import FaultySaver, fork, until_done
from plait.types import Command, Send, interrupt

from .parts import Figure, Scene

KEPT = "kept"
"""A thread of which nothing is ever deleted: what was acknowledged there can be looked for."""
THREADS = [KEPT, "a", "b", "c"]
COPIES = ["copy of one", "copy of another"]
TRIES = 40
"""How often each of them tries something."""
CANCELLED = 0.1
"""Which part of what is tried in event loops is cancelled on its way."""
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
        api: Which methods he calls. What is written here is the same; a "sync" one never waits.
    """

    def __init__(
        self, graph: Any, chance: Random, name: str, api: Literal["sync", "async"]
    ) -> None:
        self.graph, self.chance, self.api = graph, chance, api
        self.acknowledged: list[str] = []
        """What was written to the thread that is kept."""
        self._names = map(f"{name}.{{}}".format, count())

    async def tries(self) -> bool:
        """Something, at some thread; whether it was done (and not refused)."""
        thread = self.chance.choice(THREADS)
        config: Any = {"configurable": {"thread_id": thread}}
        tried = self.chance.choice(TRIED if thread != KEPT else HARMLESS)
        mark = next(self._names)
        try:
            is_written = await tried(self, config, mark)
        except (RunError, ConfigError) as error:
            if isinstance(error, ConfigError) and not str(error).startswith(NO_THREAD):
                raise
            return False
        if thread == KEPT and is_written:
            self.acknowledged.append(mark)
        return True

    async def _call(self, name: str, *args: Any, on: Any = None, **options: Any) -> Any:
        """A method of the graph or something else, or its async twin."""
        if self.api == "async":
            return await getattr(on or self.graph, f"a{name}")(*args, **options)
        return getattr(on or self.graph, name)(*args, **options)

    async def _all(self, name: str, *args: Any, on: Any = None, **options: Any) -> list[Any]:
        """What such a method yields."""
        if self.api == "async":
            twin = getattr(on or self.graph, f"a{name}")
            return [each async for each in twin(*args, **options)]
        return [*getattr(on or self.graph, name)(*args, **options)]

    async def invoke(self, config: Any, mark: str) -> bool:
        await self._call("invoke", {"log": [mark], "turn": 0}, config)
        return True

    async def answer(self, config: Any, mark: str) -> bool:
        return mark in str(await self._call("invoke", Command(resume=mark), config))

    async def stream(self, config: Any, mark: str) -> bool:
        await self._all("stream", Command(resume=mark), config, subgraphs=True)
        return False

    async def leave(self, config: Any, mark: str) -> bool:
        """Close a stream after the first super-step: its input is stored."""
        given = {"log": [mark], "turn": 0}
        if self.api == "async":
            async with aclosing(self.graph.astream(given, config)) as chunks:
                await anext(chunks)
        else:
            with closing(self.graph.stream(given, config)) as chunks:
                next(chunks)
        return True

    async def go_on(self, config: Any, mark: str) -> bool:
        await self._call("invoke", None, config)
        return False

    async def update(self, config: Any, mark: str) -> bool:
        node = self.chance.choice(["begin", "ask"])
        await self._call("update_state", config, {"log": [mark]}, as_node=node)
        return True

    async def _earlier(self, config: Any) -> Any:
        found = await self._all("get_state_history", config, limit=8)
        return self.chance.choice(found).config if found else config

    async def fork(self, config: Any, mark: str) -> bool:
        return await self.update(await self._earlier(config), mark)

    async def replay(self, config: Any, mark: str) -> bool:
        return await self.go_on(await self._earlier(config), mark)

    async def read(self, config: Any, mark: str) -> bool:
        assert all(each.created_at for each in await self._all("get_state_history", config))
        await self._call("get_state", config, subgraphs=True)
        return False

    async def list(self, config: Any, mark: str) -> bool:
        for asked in (config, None):
            found = await self._all("list", asked, limit=20, on=self.graph.checkpointer)
            assert all(each.checkpoint["id"] for each in found)
        return False

    async def copy(self, config: Any, mark: str) -> bool:
        saver, source = self.graph.checkpointer, config["configurable"]["thread_id"]
        target = self.chance.choice(COPIES)
        await self._call("delete_thread", target, on=saver)
        try:
            await self._call("copy_thread", source, target, on=saver)
        except ConfigError as error:
            if "exists" not in str(error):  # somebody else copied there meanwhile
                raise
        return False

    async def prune(self, config: Any, mark: str) -> bool:
        saver, name = self.graph.checkpointer, config["configurable"]["thread_id"]
        await self._call("prune", [name], keep_last=self.chance.choice([1, 5]), on=saver)
        return False

    async def delete(self, config: Any, mark: str) -> bool:
        name = config["configurable"]["thread_id"]
        await self._call("delete_thread", name, on=self.graph.checkpointer)
        return False


NO_THREAD = "There is no thread"
P = Person
HARMLESS: list[Callable[[Person, Any, str], Coroutine[Any, Any, bool]]] = [
    P.invoke, P.invoke, P.answer, P.answer, P.answer, P.stream, P.leave, P.go_on, P.update,
    P.fork, P.replay, P.read, P.list, P.copy,
]  # fmt: skip
TRIED = [*HARMLESS, P.prune, P.prune, P.delete]

Tell: TypeAlias = Callable[[bool, list[str]], Any]
"""Takes whether something was done, and what was acknowledged."""


def in_threads(graph: Any, name: str, people: int, tell: Tell) -> None:
    """People of one process who call sync methods, each in a thread."""

    def work(n: int) -> None:
        person = Person(graph, Random(f"{name}.{n}"), f"{name}.{n}", "sync")
        for _ in range(TRIES):
            tell(_at_once(person.tries()), person.acknowledged)
            person.acknowledged.clear()

    with ThreadPoolExecutor(people) as threads:
        list(threads.map(work, range(people)))


def _at_once(never_waits: Coroutine[Any, Any, bool]) -> bool:
    try:
        never_waits.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a sync method waited")


async def in_a_loop(graph: Any, name: str, people: int, tell: Tell) -> None:
    """People of one event loop; now and then one is cancelled."""

    async def work(n: int) -> None:
        chance = Random(f"{name}.{n}")
        person = Person(graph, chance, f"{name}.{n}", "async")
        for _ in range(TRIES):
            trying = asyncio.create_task(person.tries())
            if chance.random() < CANCELLED:
                for _ in range(chance.randrange(30)):
                    await asyncio.sleep(0)
                trying.cancel()
            (done,) = await asyncio.gather(trying, return_exceptions=True)
            if isinstance(done, BaseException) and not isinstance(done, asyncio.CancelledError):
                raise done
            tell(done is True, person.acknowledged)
            person.acknowledged.clear()

    await asyncio.gather(*map(work, range(people)))


def together(graph: Any, name: str, tell: Tell) -> None:
    """One in a thread and two in an event loop, on one saver."""
    simplefilter("ignore", UnusedAnswerWarning)  # another went back, and asks anew
    with ThreadPoolExecutor(1) as beside:
        thread = beside.submit(in_threads, graph, f"{name}.1", 1, tell)
        asyncio.run(in_a_loop(graph, f"{name}.2", 2, tell))
        thread.result()


def processes(seed: int, scene: Scene) -> Figure:
    """Three processes; one of them dies at some storage request."""
    point = Random(seed).randint(1, 1000)

    def work(tell: Callable[[str], Any], number: int) -> None:
        with scene.db.open() as inner:
            dies = number == 0
            graph = build(FaultySaver(inner, at=point, fault="kill") if dies else inner)
            together(graph, f"{seed}.{number}", lambda *said: tell(json.dumps(said)))

    children = [fork(lambda tell, n=n: work(tell, n)) for n in range(3)]
    operations, acknowledged = 0, set[str]()
    try:
        for child in children:
            while line := child.hear():
                if not line.startswith("["):
                    raise AssertionError("\n".join([line, *_rest(child)]))
                done, marks = json.loads(line)
                operations += done
                acknowledged.update(marks)
        deaths = sum(child.wait() != 0 for child in children)
    finally:
        for child in children:
            child.kill()
    if scene.db.kind == "sqlite":
        with closing(connect(cast("Path", scene.db.target))) as plain:
            assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with scene.db.open() as saver:
        seen = check(saver, acknowledged)
    return _figure(operations, seen, kills=deaths)


def in_memory(seed: int, scene: Scene) -> Figure:
    """One process, one saver in its memory."""
    operations, acknowledged = 0, set[str]()

    def tell(done: bool, marks: list[str]) -> None:
        nonlocal operations
        operations += done
        acknowledged.update(marks)

    saver = InMemorySaver()
    together(build(saver), str(seed), tell)
    return _figure(operations, check(saver, acknowledged))


def _figure(operations: int, checkpoints: int, **more: int) -> Figure:
    return {"rounds": 1, "operations": operations, **more, "checkpoints looked at": checkpoints,
            "lost or broken": 0}  # fmt: skip


def _rest(child: Any) -> Iterator[str]:
    while line := child.hear():
        yield line


def check(saver: Any, acknowledged: set[str]) -> int:
    """What is stored is whole, holds what was acknowledged, and every thread goes to its end.

    Returns:
        How many checkpoints were looked at.
    """
    seen, graph = 0, build(saver)
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
        if any(ns == "" for ns, _ in stored):  # else a copy died between the heads of its lanes
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
