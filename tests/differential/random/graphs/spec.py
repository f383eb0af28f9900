"""The program of a seed."""

from typing import Any

from tests.differential.random.dice import Dice, Spec

from .graphs import graph_specs, has_inside, sends
from .scripts import script
from .wider import widen


def generate(seed: int) -> Spec:
    """The program of a seed, as data."""
    dice = Dice(seed)
    saved = dice.chance(0.93)
    graphs = graph_specs(dice)
    aio = dice.chance(0.5)
    tidy(dice, graphs, aio)
    program: Spec = {
        "aio": aio,
        "saved": saved,
        "kind": "memory" if dice.chance(0.7) else "sqlite",
        "graphs": graphs,
        "script": script(dice, graphs, saved),
    }
    widen(Dice(f"wider:{seed}"), program)
    if at_once(graphs) or any(map(sends, graphs)):
        take_out(graphs, "store")  # tasks of one node that run at once would count in any order
    return program


def tidy(dice: Dice, graphs: list[Spec], aio: bool) -> None:
    """Takes out of graphs what rows of the differences name, or what is left to chance."""
    _lead_to_known(graphs)
    fails = _has(graphs, "fail")
    if fails and _has(graphs, "ask"):
        take_out(graphs, dice.one(["fail", "ask"]))
        fails = _has(graphs, "fail")
    _leave_one(graphs, "fail")
    if at_once(graphs):
        take_out(graphs[:-1], "fail")
    take_out([graph for graph in graphs if graph["checkpointer"] == "false"], "ask")
    if _has(graphs, "ask"):
        _write_once(graphs[:-1])
    if _has(graphs, "ask") or fails:  # "Answered questions of a failed task", "Errors of before"
        for graph in graphs[:-1]:
            graph["before"] = graph["after"] = []
    if any(graph["checkpointer"] == "true" for graph in graphs):
        _send_no_graphs(graphs)
    calls = any(map(_calls, (node for graph in graphs for node in graph["nodes"])))
    if aio and (fails or calls or dice.chance(0.7)):
        for graph in graphs:
            for node in graph["nodes"]:
                node["aio"] = True
            for path in graph["paths"]:
                path["aio"] = True


def _lead_to_known(graphs: list[Spec]) -> None:
    """Commands for the graph around one lead to nodes of it ("Routes to nodes that do not exist").

    A graph inside others stands in some that follow it.
    """
    for graph in graphs[:-1]:
        around = [each for each in graphs if has_inside(each, graph["name"])]
        names = set.intersection(*({node["name"] for node in each["nodes"]} for each in around))
        for node in graph["nodes"]:
            if node["goto"] and node["goto"]["kind"] == "parent":
                node["goto"]["to"] = [name for name in node["goto"]["to"] if name in names]


def _has(graphs: list[Spec], kind: str) -> bool:
    return any(step[0] == kind for g in graphs for node in g["nodes"] for step in node["steps"])


def take_out(graphs: list[Spec], kind: str) -> None:
    """Leaves out steps of one kind.

    A program asks or fails ("Answered questions of a failed task"), and a graph without checkpoints
    asks nothing ("Questions of graphs without checkpoints").
    """
    for graph in graphs:
        for node in graph["nodes"]:
            node["steps"] = [step for step in node["steps"] if step[0] != kind]


def _write_once(graphs: list[Spec]) -> None:
    """Leaves out the key that takes one write: several may be made ("Writes beside a question")."""
    for graph in graphs:
        for part in ("keys", "input", "output"):
            graph[part] = graph[part] and [key for key in graph[part] if key != "bare"]
        for node in graph["nodes"]:
            node["writes"] = [key for key in node["writes"] if key != "bare"]


def _leave_one(graphs: list[Spec], kind: str) -> None:
    """Of several nodes that fail at once, the peer keeps the errors of those that were quick."""
    nodes = [node for graph in graphs for node in graph["nodes"] if _steps_of(node, kind)]
    for node in nodes[1:]:
        node["steps"] = [step for step in node["steps"] if step[0] != kind]


def at_once(graphs: list[Spec]) -> bool:
    """Whether a graph inside may run several times at once: whose third task fails is chance."""
    return any(
        sum(bool(node.get("sub")) or _calls(node) for node in graph["nodes"]) > 1 or sends(graph)
        for graph in graphs[1:]
    )


def _send_no_graphs(graphs: list[Spec]) -> None:
    """A graph with memory runs once at a time: which of two tasks remembers is left to chance."""
    for graph in graphs:
        inside = {node["name"] for node in graph["nodes"] if node.get("sub") or _calls(node)}
        gotos = [node["goto"] for node in graph["nodes"] if node["goto"]]
        for way in [*graph["paths"], *gotos]:
            if way["kind"] == "send":
                way["to"] = [name for name in way["to"] if name not in inside] or ["END"]


def _calls(node: Spec) -> bool:
    return any(step[0] == "call" for step in node["steps"])


def _steps_of(node: Spec, kind: str) -> list[list[Any]]:
    return [step for step in node["steps"] if step[0] == kind]
