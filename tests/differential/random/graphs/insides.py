"""Graphs that wait inside of others: what is there is looked at, edited, and gone on from."""

from tests.differential.random.dice import Dice, Spec

from .graphs import graph_specs, sends
from .scripts import a_run, remembering, some_modes, written
from .spec import take_out, tidy

DEPTH = 2
"""Graphs of a program: one, and one inside of it, so that it is known whose state is edited."""


def inside(seed: int) -> Spec:
    """The program of a seed, as data."""
    dice = Dice(f"insides:{seed}")
    graphs = graph_specs(dice)
    while len(graphs) != DEPTH:
        graphs = graph_specs(dice)
    inner = graphs[0]
    inner["checkpointer"] = dice.one(["none", "none", "true"])
    take_out(graphs, "fail")
    take_out(graphs, "store")  # tasks that run at once would count in any order
    for graph in graphs:  # "Updates for a deferred node"
        for node in graph["nodes"]:
            node["defer"] = False
    if sends(inner):  # "Several that lead out of a graph"
        for node in inner["nodes"]:
            if node["goto"] and node["goto"]["kind"] == "parent":
                node["goto"] = None
    for node in dice.some(inner["nodes"], 1, 2):
        node["steps"] += [["ask", index] for index in range(dice.number(1, 2))]
    aio = dice.chance(0.5)
    tidy(dice, graphs, aio)
    script = [a_run(dice, graphs[-1])]
    for _ in range(dice.number(2, 6)):
        action = _action(dice, graphs)
        if action["do"] == "resume" and script[-1]["do"] in ("update", "look"):
            script.append(_going_on(dice, graphs))  # "Answers by an older id"
        script.append(action)
    return {
        "aio": aio,
        "saved": True,
        "kind": "memory" if dice.chance(0.6) else "sqlite",
        "graphs": graphs,
        "script": remembering(graphs, script) if inner["checkpointer"] == "true" else script,
    }


def _action(dice: Dice, graphs: list[Spec]) -> Spec:
    inner, root = graphs
    kind = dice.weighted(update=4, resume=6, go_on=2, anew=1, look=1.5)
    if kind == "update":
        return {
            "do": "update",
            "values": written(dice, inner),
            "node": dice.one([node["name"] for node in inner["nodes"]]),
            "inside": dice.number(1, 2),
        }
    if kind == "look":
        return {"do": "look", "inside": True}
    if kind == "anew":
        return {**a_run(dice, root), "version": None}
    if kind == "go_on":
        return _going_on(dice, graphs)
    answers = [f"yes{number}" for number in range(dice.number(1, 3))]
    streamed = some_modes(dice) if dice.chance(0.4) else None
    return {"do": "resume", "answers": answers, "mapped": True, "modes": streamed}


def _going_on(dice: Dice, graphs: list[Spec]) -> Spec:
    return {**a_run(dice, graphs[-1]), "input": None, "version": None}
