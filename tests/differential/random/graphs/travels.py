"""Time travel: what is done with a thread of which every checkpoint may be gone back to."""

from typing import Any

from tests.differential.random.dice import Dice, Spec

from .graphs import graph_specs, side_by_side
from .scripts import ODD, a_run, some_modes, written
from .spec import take_out, tidy

NEWEST = 9
"""Scripts go back to one of that many checkpoints."""
FILTERS: list[Spec] = [
    *({"source": source} for source in ("loop", "input", "update", "fork")),
    *({"step": step} for step in (-1, 0, 1, 2)),
    {"source": "loop", "step": 1},
]


def travel(seed: int) -> Spec:
    """The program of a seed, as data."""
    dice = Dice(f"travels:{seed}")
    graphs = side_by_side(dice) if dice.chance(0.4) else graph_specs(dice)
    for graph in graphs:  # "Updates for a deferred node", "Memory of a subgraph after a fork"
        for node in graph["nodes"]:
            node["defer"] = False
        if graph["checkpointer"] == "true":
            graph["checkpointer"] = "none"
    take_out(graphs, "store")  # tasks that run at once would count in any order
    aio = dice.chance(0.5)
    tidy(dice, graphs, aio)
    return {
        "aio": aio,
        "saved": True,
        "kind": "memory" if dice.chance(0.6) else "sqlite",
        "graphs": graphs,
        "script": _script(dice, graphs[-1]),
    }


def _script(dice: Dice, root: Spec) -> list[Spec]:
    first = _of_nothing(dice, root) if dice.chance(0.15) else [a_run(dice, root)]
    return [*first, *(_action(dice, root) for _ in range(dice.number(3, 8)))]


def _of_nothing(dice: Dice, root: Spec) -> list[Spec]:
    """A thread that begins with what was written by hand."""
    steps: list[Any] = [[written(dice, root), "__input__"]]
    if dice.chance(0.7):
        steps.append([written(dice, root), "__start__"])
    return [{"do": "bulk", "steps": [*steps, *_steps(dice, root)]}]


def _steps(dice: Dice, root: Spec) -> list[Any]:
    """Super-steps of a bulk update, of one node or of several at once ("Updates that fail")."""
    names = [node["name"] for node in root["nodes"]]
    return [
        [
            [[key for key in written(dice, root) if key != "bare"], node]
            for node in dice.mixed(names, 1, 3)
        ]
        for _ in range(dice.number(0, 2))
    ]


def _action(dice: Dice, root: Spec) -> Spec:
    """One action, mostly at an old checkpoint. Answers name their question ("Answers after an
    answer")."""
    at = dice.number(0, NEWEST) if dice.chance(0.6) else None
    kind = dice.weighted(go_on=4, resume=3, update=3, bulk=1, anew=0.7, look=2, history=1.5)
    if kind == "go_on":
        return {**a_run(dice, root), "input": None, "at": at, "version": None}
    if kind == "anew":
        return {**a_run(dice, root), "at": at, "version": None}
    if kind == "resume":
        answers = [f"yes{number}" for number in range(dice.number(1, 3))]
        streamed = some_modes(dice) if dice.chance(0.4) else None
        return {"do": "resume", "answers": answers, "mapped": True, "modes": streamed, "at": at}
    if kind == "look":
        return {"do": "look", "at": at, "inside": dice.chance(0.7)}
    if kind == "history":
        found: Spec = {"do": "history"}
        dice.put(found, "limit", 0.6, (1, 2, 3))
        dice.put(found, "before", 0.5, range(NEWEST))
        dice.put(found, "filter", 0.5, FILTERS)
        return found
    if kind == "bulk":
        return {"do": "bulk", "steps": _steps(dice, root) or [[{}, "__copy__"]], "at": at}
    return _update(dice, root, at)


def _update(dice: Dice, root: Spec, at: int | None) -> Spec:
    """An update in the name of a node ("Updates after updates"), or in an odd one."""
    names = [node["name"] for node in root["nodes"]]
    node = dice.one(ODD) if dice.chance(0.3) else dice.one(names)
    nothing = node == "__copy__" or dice.chance(0.15)
    found: Spec = {"do": "update", "values": None if nothing else written(dice, root), "node": node}
    dice.put(found, "task", 0.2, (0, 1, 2))
    return {**found, "at": at}
