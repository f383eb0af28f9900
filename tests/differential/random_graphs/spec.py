"""The program of a seed."""

from .dice import Dice, Spec
from .graphs import graph_specs
from .scripts import script


def generate(seed: int) -> Spec:
    """The program of a seed, as data."""
    dice = Dice(seed)
    saved = dice.chance(0.93)
    graphs = graph_specs(dice)
    aio = dice.chance(0.5)
    fails = any(
        step[0] == "fail" for graph in graphs for node in graph["nodes"] for step in node["steps"]
    )
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
