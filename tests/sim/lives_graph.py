"""The graph of the long lives of threads, and what each of its steps must come to, as pure Python.

Lists and dicts are edited in place, one channel is a `DeltaChannel`, one node calls a graph that
remembers, two run side by side, one asks from inside a nested graph. Trouble comes from outside
(`Trouble`) and is over when it has struck, so that what a step comes to does not depend on it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Annotated, Any, TypedDict

from plait.channels import DeltaChannel
from plait.graph import START, StateGraph
from plait.graph.renames import RenamedFrom
from plait.types import interrupt

NEW_NAMES = {"edit": "revise", "count": "total"}
"""What is called otherwise in the second version of the graph."""


class Boom(Exception):
    """A node fails."""


class Interrupted(BaseException):
    """A node is hit by what is no `Exception`, as Ctrl-C is."""


@dataclass
class Trouble:
    """What is about to go wrong: by node, the error that it raises once."""

    errors: dict[str, BaseException] = field(default_factory=dict[str, BaseException])

    def strike(self, name: str) -> None:
        """Raise what was meant for this node."""
        error = self.errors.pop(name, None)
        if error is not None:
            raise error


def added(value: list[Any], updates: list[list[Any]]) -> list[Any]:
    """The reducer of the delta channel."""
    return value + [item for update in updates for item in update]


class Memory(TypedDict, total=False):
    """What the graph that remembers has heard."""

    heard: Annotated[list[str], operator.add]


class First(TypedDict, total=False):
    """The state at first."""

    items: Annotated[list[str], operator.add]
    log: Annotated[list[Any], DeltaChannel(added)]
    notes: list[Any]
    box: dict[str, Any]
    count: Annotated[int, operator.add]
    turn: dict[str, Any]


class Second(TypedDict, total=False):
    """The state after a key got another name."""

    items: Annotated[list[str], operator.add]
    log: Annotated[list[Any], DeltaChannel(added)]
    notes: list[Any]
    box: dict[str, Any]
    total: Annotated[int, operator.add, RenamedFrom("count")]
    turn: dict[str, Any]


# --- what nodes do, in the graph and in the model ------------------------------------------------


def edit(notes: list[Any], box: dict[str, Any], turn: int) -> None:
    """Change a list and a dict in place, in a way that the number of the turn decides."""
    random = Random(turn)
    for _ in range(random.randint(1, 4)):
        act = random.randrange(8)
        place = random.randint(0, len(notes))
        if act <= 2:
            notes.extend({"n": turn, "text": "x" * random.choice((3, 80, 400))} for _ in "ab")
        elif act == 3:
            notes.insert(place, [turn, "inserted"])
        elif act == 4:
            del notes[place : place + 2]
        elif act == 5 and notes and isinstance(notes[place - 1], dict):
            notes[place - 1]["text"] += "+"
        elif act == 6:
            box.setdefault(f"deep{turn % 3}", []).append(turn)
        else:
            box.pop(f"k{turn % 5}", None)
            box[f"k{turn % 7}"] = {"turn": turn, "long": "y" * random.choice((1, 300))}


def heard_text(heard: list[str]) -> str:
    """What the node says that calls the graph with a memory."""
    return f"memo {len(heard)} {heard[-1]}"


def answer_to(question: str) -> str:
    """The answer that belongs to a question."""
    return f"<{question}>"


def step(point: Point) -> Point:
    """The point after the next super-step."""
    values, memory = deepcopy(point.values), point.memory
    match point.next:
        case ("__start__",):
            values = fed(values, point.given)
            return Point(values, ("edit",), memory)
        case ("edit",):
            edit(values["notes"], values["box"], values["turn"]["n"])
            values = fed(values, {"count": 1})
            return Point(values, ("memo",), memory)
        case ("memo",):
            said = [f"{values['turn']['n']}{name}" for name in ("", "h1", "h2", "h3", "h4")]
            memory = (*memory, *said) if memory is not None else None
            text = heard_text(list(memory)) if memory is not None else None
            values = fed(values, {"items": [text]})
            return Point(values, ("left", "right"), memory)
        case ("left", "right"):
            for name in point.next:
                values = fed(values, side(name, values["turn"]["n"]))
            return Point(values, ("ask",), memory)
        case ("ask",):
            turn = values["turn"]
            text = answer_to(f"q{turn['n']}") if turn["asks"] else "unasked"
            return Point(fed(values, {"items": [text]}), (), memory)
        case _:
            raise AssertionError(f"nothing comes after {point.next}")


def side(name: str, turn: int) -> dict[str, Any]:
    """What one of the two nodes that run side by side writes."""
    return {"log": [[name, turn]], "items": [f"{name}{turn}"], "count": 10}


def fed(values: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Values after an update."""
    values = dict(values)
    for key, value in given.items():
        old = values.get(key)
        values[key] = old + value if key in ("items", "log", "count") and old else deepcopy(value)
    return values


@dataclass(frozen=True)
class Point:
    """What a checkpoint must hold, in the first names."""

    values: dict[str, Any]
    next: tuple[str, ...]
    memory: tuple[str, ...] | None
    """What the graph that remembers has heard (None: nobody knows any more)."""
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The input that is about to be taken."""
    version: int = 1
    parent: str | None = None
    when: str = ""
    run: str | None = None
    number: int = -2


# --- the graph -----------------------------------------------------------------------------------


class Maker:
    """Builds the graph.

    Args:
        version: 1, or 2 with its new names.
    """

    def __init__(self, version: int, trouble: Trouble) -> None:
        self.version = version
        self.trouble = trouble

    def now(self, name: str) -> str:
        """What a node or key is called in this version."""
        return NEW_NAMES.get(name, name) if self.version == 2 else name

    def build(self, saver: Any) -> Any:
        """The graph over a saver."""
        count, second = self.now("count"), self.version == 2
        migrations = {1: migrated} if second else None
        builder: Any = StateGraph(
            Second if second else First, version=self.version, migrations=migrations
        )
        strike = self.trouble.strike
        memory = self._memory()

        def edits(state: Any) -> Any:
            edit(state["notes"], state["box"], state["turn"]["n"])
            strike("edit")
            return {"notes": state["notes"], "box": state["box"], count: 1}

        def memo(state: Any) -> Any:
            heard = memory.invoke({"heard": [str(state["turn"]["n"])], "turn": state["turn"]})
            strike("memo")
            return {"items": [heard_text(heard["heard"])]}

        def beside(name: str) -> Callable[[Any], Any]:
            def run(state: Any) -> Any:
                strike(name)
                update = side(name, state["turn"]["n"])
                return {self.now(key): value for key, value in update.items()}

            return run

        builder.add_node(self.now("edit"), edits, renamed_from=["edit"] if second else ())
        builder.add_node("memo", memo)
        builder.add_node("left", beside("left"))
        builder.add_node("right", beside("right"))
        builder.add_node("ask", self._asking())
        builder.add_edge(START, self.now("edit")).add_edge(self.now("edit"), "memo")
        builder.add_edge("memo", "left").add_edge("memo", "right")
        builder.add_edge(["left", "right"], "ask")
        return builder.compile(checkpointer=saver)

    def _memory(self) -> Any:
        """A graph that remembers, with more steps than the one around it."""
        inner: Any = StateGraph(_Heard)
        names = ("h1", "h2", "h3", "h4")
        for name in names:

            def hear(state: Any, name: str = name) -> Any:
                self.trouble.strike(name)
                return {"heard": [f"{state['turn']['n']}{name}"]}

            inner.add_node(name, hear)
        inner.add_edge(START, names[0])
        for before, after in pairwise(names):
            inner.add_edge(before, after)
        return inner.compile(checkpointer=True)

    def _asking(self) -> Any:
        """A graph as a node, which asks."""
        inner: Any = StateGraph(_Asked, output_schema=_Told)

        def ask(state: Any) -> Any:
            turn = state["turn"]
            answer = interrupt(f"q{turn['n']}") if turn["asks"] else "unasked"
            self.trouble.strike("ask")
            return {"answer": answer}

        inner.add_node("put", ask)
        inner.add_node("tell", lambda state: {"items": [state["answer"]]})
        inner.add_edge(START, "put").add_edge("put", "tell")
        return inner.compile()


class _Heard(Memory, total=False):
    turn: dict[str, Any]


class _Told(TypedDict, total=False):
    items: list[str]


class _Asked(_Told, total=False):
    turn: dict[str, Any]
    answer: str


def migrated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values, or an input, as the second version has them."""
    turn = values.get("turn")
    return {**values, "turn": {**turn, "v": 2}} if turn is not None else dict(values)
