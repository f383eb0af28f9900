"""What a run must come to, in plain Python: super-steps over dicts, one task after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .graphs import INPUT, Node, Spec, act, answer_to, lead, question

REDUCED = ("log", "total")


@dataclass
class Step:
    """The checkpoint after one super-step."""

    values: dict[str, Any]
    next: list[str]
    updates: list[str] = field(default_factory=list)
    """What its tasks wrote, each as text, sorted."""


@dataclass
class Course:
    """A whole run."""

    steps: dict[int, Step] = field(default_factory=dict)
    conflict: bool = False
    """Whether it ends because two tasks wrote one last-value key."""


@dataclass
class Coming:
    """What runs next."""

    pulls: set[str] = field(default_factory=set)
    sends: list[tuple[str, Any]] = field(default_factory=list)

    def names(self) -> list[str]:
        return [*(name for name, _ in self.sends), *sorted(self.pulls)]


class Model:
    """One graph at work."""

    def __init__(self, spec: Spec) -> None:
        self.nodes = {node.name: node for node in spec.nodes}
        self.entry = spec.entry
        self.joins = spec.joins
        self.arrived: dict[Any, set[str]] = {join: set() for join in spec.joins}
        self.finished: set[Any] = set()
        """Joins of deferred nodes that are complete and whose turn it is."""
        self.deferred: set[str] = set()
        self.state: dict[str, Any] = {"log": [], "total": 0}

    def run(self) -> Course:
        """Run to the end."""
        course = Course()
        course.steps[-1] = Step(self.state, ["__start__"])
        self.merge([INPUT])
        coming = Coming()
        for name in self.entry:
            self.trigger(name, coming)
        self.settle(coming)
        number = 0
        course.steps[0] = Step(self.state, coming.names())
        while coming.pulls or coming.sends:
            number += 1
            step = self.step(coming, course)
            if step is None:
                return course
            coming, updates = step
            course.steps[number] = Step(self.state, coming.names(), sorted(updates))
        return course

    def step(self, coming: Coming, course: Course) -> tuple[Coming, list[str]] | None:
        """One super-step; None if two tasks wrote one key."""
        before = self.state
        work = [(self.nodes[name], before) for name in sorted(coming.pulls)]
        work += [(self.nodes[name], given) for name, given in coming.sends]
        done = [(node, update_of(node, given)) for node, given in work]
        held = [key for _, update in done for key in update if key not in REDUCED]
        if len(held) != len(set(held)):
            course.conflict = True
            return None
        for name in coming.pulls:
            self.consume(name)
        following = Coming()
        for node, update in done:
            self.leave(node, merged(before, update), following)
        self.merge([update for _, update in done])
        self.settle(following)
        return following, [repr({node.name: update}) for node, update in done]

    def leave(self, node: Node, state: dict[str, Any], coming: Coming) -> None:
        """Take a node's edges."""
        for goal in node.edges:
            self.trigger(goal, coming)
        for join in self.joins:
            if node.name in join[0]:
                self.arrived[join].add(node.name)
                if self.complete(join) and not self.nodes[join[1]].defer:
                    coming.pulls.add(join[1])
        goals, sends = lead(node, state) if node.routes or node.sends else ([], [])
        for goal in goals:
            self.trigger(goal, coming)
        coming.sends += sends

    def trigger(self, name: str, coming: Coming) -> None:
        """Let a node run: next, or if it is deferred, when nothing else is left."""
        (self.deferred if self.nodes[name].defer else coming.pulls).add(name)

    def settle(self, coming: Coming) -> None:
        """If nothing is left to run, it is the turn of what was deferred."""
        if coming.pulls or coming.sends:
            return
        for join in self.joins:
            if self.nodes[join[1]].defer and self.complete(join) and join not in self.finished:
                self.finished.add(join)
                coming.pulls.add(join[1])
        coming.pulls |= self.deferred
        self.deferred = set()

    def complete(self, join: Any) -> bool:
        return self.arrived[join] == set(join[0])

    def consume(self, name: str) -> None:
        """A node runs: the joins that let it run start over."""
        for join in self.joins:
            waits = self.nodes[name].defer and join not in self.finished
            if join[1] == name and self.complete(join) and not waits:
                self.arrived[join] = set()
                self.finished.discard(join)

    def merge(self, updates: list[dict[str, Any]]) -> None:
        for update in updates:
            self.state = merged(self.state, update)


def merged(state: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """A state with one more update; the old one stays as it is."""
    new = {**state, **update}
    for key in REDUCED:
        if key in update:
            new[key] = state[key] + update[key]
    return new


def update_of(node: Node, given: Any) -> dict[str, Any]:
    """What a node writes when all its questions are answered."""
    answers = [answer_to(question(node, given, nth)) for nth in range(node.asks)]
    return act(node, given, answers)
