"""Random graphs: their description, the code of their nodes, and how they become plait's graphs.

A description is made from a list of small numbers (`choices`), so that hypothesis can draw and
shrink it and a command line can carry it.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, TypeAlias, TypedDict
from zlib import crc32

from plait.graph import END, START, StateGraph
from plait.runtime import Runtime
from plait.types import RetryPolicy, Send, interrupt

NAMES = "abcdef"
ENOUGH = 8
"""Entries of the log after which conditional edges lead to the end."""
INPUT: Any = {"log": ["in"], "total": 1, "x": 3}

Draw: TypeAlias = Callable[[int], int]
"""A number from 0 to the given one."""


class State(TypedDict, total=False):
    """Two keys with reducers, two that hold the last value."""

    log: Annotated[list[str], operator.add]
    total: Annotated[int, operator.add]
    x: int
    y: int


class Flaky(Exception):
    """Retried."""


class Broken(Exception):
    """Not retried: it ends the run."""


@dataclass(frozen=True)
class Node:
    """One node. `edges` are plain, `routes` and `sends` are where its conditional edge may lead."""

    name: str
    holds: str = ""
    """The last-value key that it writes."""
    defer: bool = False
    flaky: int = 0
    """Attempts that fail first."""
    broken: int = 0
    """Runs that it ends by an error first."""
    asks: int = 0
    """Questions that it asks."""
    edges: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    sends: str = ""


@dataclass(frozen=True)
class Spec:
    """One graph."""

    nodes: tuple[Node, ...]
    entry: tuple[str, ...]
    joins: tuple[tuple[tuple[str, ...], str], ...] = ()
    choices: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The graph, for a command line."""
        return ".".join(map(str, self.choices))


def spec_from(draw: Draw) -> Spec:
    """Make a graph from drawn numbers. Only conditional edges lead backward."""
    choices: list[int] = []

    def below(bound: int) -> int:
        if bound == 1:
            return 0
        choices.append(draw(bound - 1))
        return choices[-1]

    names = NAMES[: 1 + below(6)]

    def some(of: str, most: int) -> tuple[str, ...]:
        if not of:
            return ()
        return tuple(sorted({of[below(len(of))] for _ in range(below(most + 1))}))

    nodes: list[Node] = []
    for i, name in enumerate(names):
        later, kind, trait = names[i + 1 :], below(4), below(14)
        nodes.append(
            Node(
                name,
                holds=("", "", "", "", "x", "y")[below(6)],
                defer=trait == 1,
                flaky=2 if trait == 2 else 0,
                broken=1 if trait == 3 else 0,
                asks={4: 1, 5: 2}.get(trait, 0),
                edges=some(later, 2) if kind < 3 else (),
                routes=some(names, 2) if kind > 1 else (),
                sends=names[below(len(names))] if kind == 3 else "",
            )
        )
    joins: dict[tuple[tuple[str, ...], str], None] = {}
    for _ in range(below(3)):
        target = below(len(names))
        sources = some(names[:target], 3)
        if sources:
            joins[sources, names[target]] = None
    entry = some(names, 3) or (names[0],)
    return Spec(tuple(nodes), entry, tuple(joins), tuple(choices))


def spec_of_seed(seed: int) -> Spec:
    """The graph that a seed stands for."""
    random = Random(seed)
    return spec_from(lambda most: random.randint(0, most))


def spec_of_text(text: str) -> Spec:
    """The graph behind `Spec.text`."""
    numbers: Iterator[int] = map(int, text.split("."))
    return spec_from(lambda _: next(numbers))


# --- the code of the nodes: pure functions, shared with the model ---------------------------------


def mark(node: Node, given: Any) -> int:
    """A small number that depends on the node and on all that it is given."""
    return crc32(repr((node.name, sorted(given.items()))).encode()) % 89


def question(node: Node, given: Any, nth: int) -> str:
    """What the node asks; differs between tasks."""
    return f"{node.name}{nth}?{mark(node, given)}"


def answer_to(asked: str) -> str:
    """The answer that belongs to a question."""
    return f"<{asked}>"


def act(node: Node, given: Any, answers: Sequence[str]) -> dict[str, Any]:
    """The update of a node."""
    seen = mark(node, given)
    update: dict[str, Any] = {"log": ["".join((node.name, str(seen), *answers))], "total": seen}
    if node.holds:
        update[node.holds] = seen
    return update


def lead(node: Node, state: Any) -> tuple[list[str], list[tuple[str, Any]]]:
    """Where the node's conditional edge leads: nodes, and (node, input) of Sends."""
    if len(state["log"]) >= ENOUGH:
        return [], []
    seen = mark(node, state)
    goals = [goal for i, goal in enumerate(node.routes) if seen >> i & 1]
    sends = [(node.sends, {"item": i, "of": seen}) for i in range(seen % 4)] if node.sends else []
    return goals, sends


# --- as a graph of plait --------------------------------------------------------------------------


def build(spec: Spec, *, native: str = "sync") -> Any:
    """The compiled graph, without a saver. Its nodes are sync or async functions."""
    builder: Any = StateGraph(State)
    retry = RetryPolicy(
        initial_interval=0.0, jitter=False, max_attempts=3, retry_on=Flaky, max_interval=0.0
    )
    for node in spec.nodes:
        code = _async_code(node) if native == "async" else _code(node)
        builder.add_node(node.name, code, defer=node.defer, retry_policy=retry)
    for name in spec.entry:
        builder.add_edge(START, name)
    for node in spec.nodes:
        for goal in node.edges:
            builder.add_edge(node.name, goal)
        if node.routes or node.sends:
            builder.add_conditional_edges(node.name, _path(node), [*NAMES[: len(spec.nodes)], END])
    for sources, target in spec.joins:
        builder.add_edge(list(sources), target)
    return builder.compile()


broken_runs: dict[str, int] = {}
"""How often each node has ended a run of the thread at hand by an error."""


def _work(node: Node, state: Any, attempt: int) -> dict[str, Any]:
    if attempt <= node.flaky:
        raise Flaky(node.name)
    answers = [interrupt(question(node, state, nth)) for nth in range(node.asks)]
    if broken_runs.get(node.name, 0) < node.broken:
        broken_runs[node.name] = broken_runs.get(node.name, 0) + 1
        raise Broken(node.name)
    return act(node, state, answers)


def _code(node: Node) -> Any:
    if not node.flaky:
        return lambda state: _work(node, state, 1)

    def flaky(state: State, runtime: Runtime[Any]) -> dict[str, Any]:
        assert runtime.execution_info is not None
        return _work(node, state, runtime.execution_info.node_attempt)

    return flaky


def _async_code(node: Node) -> Any:
    async def code(state: State, runtime: Runtime[Any]) -> dict[str, Any]:
        assert runtime.execution_info is not None
        await asyncio.sleep(0)
        return _work(node, state, runtime.execution_info.node_attempt)

    return code


def _path(node: Node) -> Any:
    def path(state: State) -> list[Any]:
        goals, sends = lead(node, state)
        return [*goals, *(Send(goal, given) for goal, given in sends)]

    return path
