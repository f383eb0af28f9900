"""Journeys: a thread that takes turns, goes back, forks, dies between, and is held to the model."""

from __future__ import annotations

import operator
from collections import Counter
from random import Random
from typing import Annotated, Any, TypedDict

from plait.checkpoint.log.requests import ReadLane
from plait.checkpoint.memory import InMemorySaver
from plait.drivers.env import run_env
from plait.drivers.sim import Crash, SimEnv, simulate
from plait.graph import START, StateGraph
from plait.types import Command, interrupt

from .travel_model import Course, Graph, Inside, Node, Point, after, answer_to, graph_of, said

CONFIG: Any = {"configurable": {"thread_id": "1"}}
LATEST = 40
"""The last storage request of a run that a crash may hit."""
MOST_LIVES = 80


class State(TypedDict):
    """One list, to which everybody adds."""

    items: Annotated[list[str], operator.add]


class Journey:
    """One thread of one random graph.

    Args:
        seed: says everything: the graph, what is done, the order of tasks, the crashes.
        crashes: whether the process dies now and then.
    """

    def __init__(self, seed: int, *, crashes: bool) -> None:
        self.random = Random(seed)
        self.crashes = crashes
        self.graph: Graph = graph_of(self.random)
        self.ran: list[str] = []
        self.env = SimEnv()
        self.app: Any = self._build(self.graph, "", InMemorySaver())
        self.points: dict[str, Point] = {}
        """The points in time of the thread, by checkpoint."""
        self.head: Point = Point(0, ())
        self.untouched: set[str] = set()
        """Checkpoints that were made by hand, or to be replayed, and from which nothing has run."""
        self.deaths = 0

    # --- the graph -------------------------------------------------------------------------------

    def _build(self, graph: Graph, path: str, saver: Any) -> Any:
        builder: Any = StateGraph(State)
        before: list[str] = []
        for layer in graph.layers:
            names = [node.name for node in layer]
            for node in layer:
                builder.add_node(node.name, self._code(node, f"{path}/{node.name}"))
                if not before:
                    builder.add_edge(START, node.name)
                elif len(before) == 1:
                    builder.add_edge(before[0], node.name)
                else:
                    builder.add_edge(before, node.name)
            before = names
        return builder.compile(checkpointer=saver)

    def _code(self, node: Node, path: str) -> Any:
        if node.inner is not None:
            inner = self._build(node.inner, path, True if node.memory else None)

            def call(state: State) -> Any:
                result = inner.invoke({"items": state["items"][-1:]})
                return {"items": [after(tuple(result["items"]), path)]}

            return call

        def say(state: State) -> Any:
            text = said(path, state["items"])
            if node.kind == "ask":
                text = interrupt(text)
            self.ran.append(path)
            return {"items": [text]}

        return say

    # --- running ---------------------------------------------------------------------------------

    def _run(self, given: Any, config: Any) -> list[str]:
        """Run to the end through questions and deaths; returns what ran.

        While nothing new is stored, a question is that of the checkpoint that `config` names.
        """
        self.ran.clear()
        for _ in range(MOST_LIVES):
            head = self._head_id()
            crash = None
            if self.crashes and self.random.random() < 0.4:
                crash = Crash(self.random.randint(1, LATEST), self.random.random() < 0.5)
            life = simulate(
                self.app,
                given,
                config,
                seed=self.random.getrandbits(32),
                crash_at=crash,
                env=self.env,
                stream_mode=["updates"],
            )
            self.deaths += life.crashed
            moved = self._head_id() != head
            if moved:  # what was begun is stored: go on with it
                config = CONFIG
            if life.crashed:
                if moved or isinstance(given, Command):
                    given = None
                continue
            asked = [q for part in life.parts for q in part[2].get("__interrupt__", ())]
            if not asked:
                return list(self.ran)
            some = [each for each in asked if self.random.random() < 0.7] or asked
            given = Command(resume={each.id: answer_to(each.value) for each in some})
        raise AssertionError("the journey does not end")

    def _head_id(self) -> bytes | None:
        row = self.app.checkpointer.execute(ReadLane("1", ""))
        return None if row is None else row.head

    # --- what is done ----------------------------------------------------------------------------

    def turn(self) -> None:
        """A new input at the head."""
        items = (f"in{len(self.points)}",)
        course = Course(self.graph)
        start = Point(-1, self.head.items, self.head.memory, items)
        course.points.append(start)
        course.go(start)
        self._hold(self._run({"items": list(items)}, CONFIG), course)

    def replay(self) -> None:
        """Go back to any checkpoint, and run from there: on the newest, if it was made by hand and
        nothing ran from it, else on a copy."""
        id, point = self._any()
        course = Course(self.graph)
        if id not in self.untouched or id != max(self.points):
            course.points.append(point)
        course.go(point)
        self._hold(self._run(None, _at(id)), course)
        if course.ran:
            self.untouched.discard(id)

    def fork(self) -> None:
        """Go back to any checkpoint, change what was said, and run from there."""
        id, point = self._any()
        before = self.graph.layers[point.layer - 1] if point.layer > 0 else ()
        if point.layer < 0 or len(before) == 2:
            config = self._by_hand(_at(id), None, "__copy__")
        else:
            config = self._by_hand(_at(id), {"items": ["F"]})
            point = Point(point.layer, (*point.items, "F"), point.memory)
        forked = config["configurable"]["checkpoint_id"]
        assert forked not in self.points
        self.points[forked] = self.head = point
        self.untouched.add(forked)
        if self.random.random() < 0.3:
            return
        course = Course(self.graph)
        course.go(point)
        addressed = self.random.random() < 0.5
        self._hold(self._run(None, config if addressed else CONFIG), course)
        if course.points:
            self.untouched.discard(forked)

    def inside(self) -> None:
        """Go back to a checkpoint inside a subgraph, perhaps change it, and run from there."""
        found = self._any_inside()
        if found is None:
            return self.replay()
        id, node, snapshot = found
        point = self.points[id]
        items = tuple(snapshot.values.get("items", ()))
        layer = snapshot.metadata["source"] == "input" and -1
        if layer is False:
            names = [each[0].name for each in node.inner.layers]
            layer = names.index(snapshot.next[0]) if snapshot.next else len(names)
        else:
            items, layer = (*items, *point.items[-1:]), 0
        config = snapshot.config
        by_hand = snapshot.metadata["source"] == "loop" and not node.memory
        if by_hand and self.random.random() < 0.4:
            config = self._by_hand(config, {"items": ["G"]})
            items = (*items, "G")
        course = Course(self.graph)
        course.points.append(point)
        course.go(point, Inside(f"/{node.name}", layer, items))
        self._hold(self._run(None, config), course)
        return None

    def _any(self) -> tuple[str, Point]:
        return self.random.choice(list(self.points.items()))

    def _any_inside(self) -> tuple[str, Any, Any] | None:
        """A checkpoint inside a subgraph that has no subgraphs with memory in it."""
        ends = [
            (id, node)
            for id, point in self.points.items()
            if 0 <= point.layer < len(self.graph.layers)
            for node in self.graph.layers[point.layer]
            if node.inner is not None and not _remembers(node.inner)
        ]
        if not ends:
            return None
        id, node = self.random.choice(ends)
        whole = self.app.get_state(_at(id), subgraphs=True)
        state = next(task.state for task in whole.tasks if task.name == node.name)
        place = dict(state.config["configurable"])
        place.pop("checkpoint_id", None)
        history = [
            each
            for each in self.app.get_state_history({"configurable": place})
            if each.metadata["parents"].get("") == id
            and each.metadata["source"] != "fork"
            and each.metadata["source"] != "update"
        ]
        return (id, node, self.random.choice(history)) if history else None

    def _by_hand(self, config: Any, values: Any, as_node: str | None = None) -> Any:
        token = run_env.set(self.env)
        try:
            return self.app.update_state(config, values, as_node)
        finally:
            run_env.reset(token)

    # --- held to the model -----------------------------------------------------------------------

    def _hold(self, ran: list[str], course: Course) -> None:
        """What ran and what is stored is what the model says."""
        if self.crashes:
            assert not Counter(course.ran) - Counter(ran), (course.ran, ran)
        else:
            assert Counter(ran) == Counter(course.ran), (course.ran, ran)
        if not course.points:
            assert not ran
            return
        new = list(self.app.get_state_history(CONFIG, limit=len(course.points)))
        for snapshot, point in zip(reversed(new), course.points, strict=True):
            id = snapshot.config["configurable"]["checkpoint_id"]
            assert id not in self.points
            assert tuple(snapshot.values.get("items", ())) == point.items, (point, snapshot.values)
            layers = self.graph.layers
            names = [node.name for node in layers[point.layer]] if point.layer < len(layers) else []
            assert list(snapshot.next) == (["__start__"] if point.layer < 0 else names)
            self.points[id] = self.head = point
            if snapshot.metadata["source"] == "fork" and not snapshot.next:
                self.untouched.add(id)


def _remembers(graph: Graph) -> bool:
    return any(
        node.inner is not None and (node.memory or _remembers(node.inner))
        for layer in graph.layers
        for node in layer
    )


def _at(checkpoint_id: str) -> Any:
    return {"configurable": {"thread_id": "1", "checkpoint_id": checkpoint_id}}


def travel(seed: int, steps: int, *, crashes: bool) -> Journey:
    """Play a journey; a failure says its seed."""
    journey = Journey(seed, crashes=crashes)
    done: list[str] = []
    try:
        journey.turn()
        for _ in range(steps):
            act = journey.random.choice(("turn", "replay", "replay", "fork", "inside"))
            done.append(act)
            getattr(journey, act)()
    except Exception as error:
        error.add_note(f"travel({seed}, {steps}, crashes={crashes}) after {done}: {journey.graph}")
        raise
    return journey
