"""Random graphs stop at random places and are edited at random: what `check` says comes true."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass, field
from operator import add
from random import Random
from typing import Annotated, Any, TypedDict

import pytest

from plait import START, Command, InMemorySaver, RenamedFrom, StateGraph, deploy, interrupt
from plait.errors import PlaitWarning

from .conftest import THREAD

SEEDS = range(400)
TOGETHER = 50
EDITS = (
    "rename", "lose", "remove", "rename-key", "lose-key", "version", "bad-version", "kind",
    "memory", "defer", "join",
)  # fmt: skip


@dataclass
class Node:
    """A node: it writes, asks, fails in the old code, or is a graph."""

    id: str
    kind: str
    name: str = ""
    former: list[str] = field(default_factory=list[str])
    defer: bool = False
    inner: Graph | None = None


@dataclass
class Graph:
    """A graph whose edges and joins name nodes by their ids, which no edit changes."""

    nodes: list[Node]
    edges: list[tuple[str, str]]
    joins: list[tuple[list[str], str]]
    key: str = "kept"
    former_keys: list[str] = field(default_factory=list[str])
    version: int = 1
    fails: bool = False
    """Whether the migration to the last version does."""
    memory: bool | None = None


class Draw:
    """Draws a graph and edits of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.count = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def graph(self, depth: int = 0) -> Graph:
        random = self.random
        graph = Graph([], [], [], memory=random.choice([None, None, True]) if depth else None)
        for _ in range(random.randint(1, 4 - depth)):
            node = Node(self.name("n"), random.choice(["write", "ask", "ask", "fail", "sub"]))
            if node.kind == "sub" and depth == 2:
                node.kind = "ask"
            if node.kind == "sub":
                node.inner = self.graph(depth + 1)
            node.name, node.defer = node.id, random.random() < 0.1
            before = [each.id for each in graph.nodes]
            if not before or random.random() < 0.5:
                graph.edges.append((START, node.id))
            elif len(before) > 1 and random.random() < 0.5:
                graph.joins.append((random.sample(before, 2), node.id))
            else:
                graph.edges.append((random.choice(before), node.id))
            graph.nodes.append(node)
        return graph

    def edit(self, whole: Graph) -> str:
        """Change something; returns what."""
        random = self.random
        graph = random.choice(list(graphs_in(whole)))
        node = random.choice(graph.nodes)
        edit = random.choice(EDITS)
        if edit == "rename":
            node.former.append(node.name)
        if edit in ("rename", "lose"):
            node.name = self.name("r")
        elif edit == "remove" and len(graph.nodes) > 1:
            graph.nodes.remove(node)
        elif edit in ("rename-key", "lose-key"):
            if edit == "rename-key":
                graph.former_keys.append(graph.key)
            graph.key = self.name("k")
        elif edit.endswith("version"):
            graph.version, graph.fails = graph.version + 1, edit == "bad-version"
        elif edit == "kind" and node.kind in ("ask", "sub"):
            node.kind = "ask" if node.kind == "sub" else "sub"
            node.inner = self.graph(2) if node.kind == "sub" else None
        elif edit == "memory" and graph is not whole:
            graph.memory = None if graph.memory else True
        elif edit == "defer":
            node.defer = not node.defer
        elif edit == "join" and graph.joins:
            starts, _ = random.choice(graph.joins)
            starts[:] = starts[:1]
        return edit


def graphs_in(graph: Graph) -> Any:
    yield graph
    for node in graph.nodes:
        if node.inner is not None:
            yield from graphs_in(node.inner)


def build(graph: Graph, saver: Any, ran: list[str], *, old: bool = False) -> Any:
    """The graph as plait's; `ran` hears each node that came to its end."""
    marks: Any = (max, RenamedFrom(*graph.former_keys)) if graph.former_keys else (max,)
    kept: Any = Annotated[(int, *marks)]
    keys = {"log": Annotated[list[str], add], graph.key: kept}
    state: Any = TypedDict("State", keys, total=False)  # type: ignore[operator]

    def fails(values: Any) -> Any:
        raise ValueError("this migration fails")

    migrations: Any = dict.fromkeys(range(1, graph.version), dict)
    if graph.fails:
        migrations[graph.version - 1] = fails
    builder: Any = StateGraph(state, version=graph.version, migrations=migrations)
    names = {node.id: node.name for node in graph.nodes}
    for node in graph.nodes:
        code = code_of(node, ran, old=old)
        builder.add_node(node.name, code, renamed_from=node.former, defer=node.defer)
    for start, end in graph.edges:
        if end in names and (start == START or start in names):
            builder.add_edge(names.get(start, START), names[end])
    for starts, end in graph.joins:
        left = [names[start] for start in starts if start in names]
        if end in names and left:
            builder.add_edge(left, names[end])
    if not any(start == START and end in names for start, end in graph.edges):
        builder.add_edge(START, graph.nodes[0].name)
    return builder.compile(checkpointer=saver)


def code_of(node: Node, ran: list[str], *, old: bool) -> Any:
    if node.inner is not None:
        return build(node.inner, node.inner.memory, ran, old=old)

    def run(state: Any) -> Any:
        if node.kind == "fail" and old:
            raise ConnectionError("the old code fails here")
        said = f"{node.id} {interrupt(node.id)}" if node.kind == "ask" else node.id
        ran.append(said)
        return {"log": [said]}

    return run


def go_on(graph: Any, config: Any = THREAD) -> None:
    """Answer and go on until the thread is at its end."""
    for _ in range(20):
        state = graph.get_state(config)
        if not state.next:
            return
        answers = {each.id: "yes" for each in state.interrupts}
        graph.invoke(Command(resume=answers) if answers else None, config)


def stopped(graph: Graph, random: Random, ran: list[str]) -> InMemorySaver:
    """A thread of the graph that has stopped somewhere."""
    saver = InMemorySaver()
    app, given = build(graph, saver, ran, old=True), {"log": [], "kept": 1}
    for _ in range(random.randint(1, 3)):
        try:
            app.invoke(given, THREAD)
        except ConnectionError:
            break
        asked = app.get_state(THREAD).interrupts
        if not asked:
            break
        given = Command(resume={random.choice(asked).id: "early"})
    return saver


def play(seed: int) -> None:
    draw, ran = Draw(seed), list[str]()
    before = draw.graph()
    after = deepcopy(before)
    edits = {draw.edit(after) for _ in range(draw.random.randint(1, 2))}
    saver = stopped(before, draw.random, ran)
    saver.copy_thread("order-7", "as-it-was")
    ran.clear()
    now = build(after, saver, ran)
    (found,) = [each for each in deploy.check(now, saver).threads if each.thread_id == "order-7"]
    failed: Exception | None = None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            go_on(now)
            for _ in range(2 if found.verdict == "breaks" else 0):  # what is broken may come later
                now.invoke({"log": []}, THREAD)
                go_on(now)
        except Exception as error:
            failed = error
    assert (failed is not None) is (found.verdict == "breaks"), (edits, failed, found.findings)
    if failed is not None:
        return
    if not found.loses:
        assert [each.message for each in told if issubclass(each.category, PlaitWarning)] == []
        assert now.get_state(THREAD).values[after.key] == 1
    if edits <= {"rename", "rename-key", "version"}:
        ran_now = sorted(ran)
        ran.clear()
        go_on(build(before, saver, ran), {"configurable": {"thread_id": "as-it-was"}})
        assert ran_now == sorted(ran), edits


@pytest.mark.parametrize("first", range(SEEDS.start, SEEDS.stop, TOGETHER))
def test_what_check_says_comes_true(first: int) -> None:
    for seed in range(first, first + TOGETHER):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                play(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
