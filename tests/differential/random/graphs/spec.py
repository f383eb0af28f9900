"""The program of a seed."""

from typing import Any

from tests.differential.random.dice import Dice, Spec

from .graphs import graph_specs
from .scripts import script


def generate(seed: int) -> Spec:
    """The program of a seed, as data."""
    dice = Dice(seed)
    saved = dice.chance(0.93)
    graphs = graph_specs(dice)
    aio = dice.chance(0.5)
    fails = _has(graphs, "fail")
    if fails and _has(graphs, "ask"):
        _take_out(graphs, dice.one(["fail", "ask"]))
        fails = _has(graphs, "fail")
    _leave_one(graphs, "fail")
    if aio and (fails or dice.chance(0.7)):
        for graph in graphs:
            for node in graph["nodes"]:
                node["aio"] = True
            for path in graph["paths"]:
                path["aio"] = True
    return {
        "aio": aio,
        "saved": saved,
        "kind": "memory" if dice.chance(0.7) else "sqlite",
        "graphs": graphs,
        "script": script(dice, graphs[-1], saved),
    }


def _has(graphs: list[Spec], kind: str) -> bool:
    return any(step[0] == kind for g in graphs for node in g["nodes"] for step in node["steps"])


def _take_out(graphs: list[Spec], kind: str) -> None:
    """A program asks or fails: what the peer lists of a failed task that asked has a row."""
    for graph in graphs:
        for node in graph["nodes"]:
            node["steps"] = [step for step in node["steps"] if step[0] != kind]


def _leave_one(graphs: list[Spec], kind: str) -> None:
    """Of several nodes that fail at once, the peer keeps the errors of those that were quick."""
    nodes = [node for graph in graphs for node in graph["nodes"] if _steps_of(node, kind)]
    for node in nodes[1:]:
        node["steps"] = [step for step in node["steps"] if step[0] != kind]


def _steps_of(node: Spec, kind: str) -> list[list[Any]]:
    return [step for step in node["steps"] if step[0] == kind]
