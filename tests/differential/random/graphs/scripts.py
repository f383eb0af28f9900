"""Which scripts are generated: what is done with a graph, one action after the other."""

from typing import Any

from tests.differential.random.dice import Dice, Spec

from .graphs import MANAGED, sends

MODES_OF_2 = ("values", "updates", "custom", "messages", "tasks")
MODES = ("values", "updates", "custom", "messages", "tasks", "checkpoints", "debug")


def script(dice: Dice, graphs: list[Spec], saved: bool) -> list[Spec]:
    """A list of actions; the first is a run."""
    root = graphs[-1]
    actions = [a_run(dice, root)]
    for _ in range(dice.number(1, 5) if saved else dice.number(0, 1)):
        edited = any(action["do"] in ("update", "bulk") for action in actions)
        # "Updates after updates", "Updates after Sends", "Updates after a join"
        named = edited or sends(root) or any(type(start) is list for start, _ in root["edges"])
        actions.append(_next(dice, root, named) if saved else a_run(dice, root))
    _name_questions(actions)
    return remembering(graphs, actions) if saved else actions


def _name_questions(actions: list[Spec]) -> None:
    """Bare answers are followed by nothing but answers ("Answers after an answer")."""
    goes_on = False
    for action in reversed(actions):
        if action["do"] == "resume":
            action["mapped"] = action["mapped"] or goes_on
        elif action["do"] != "history" and "thread" not in action:
            goes_on = True


def remembering(graphs: list[Spec], actions: list[Spec]) -> list[Spec]:
    """What is done with a graph that has memory ("Memory of a subgraph after a fork").

    Nothing is run on a thread that was edited or taken back, and none whose run may have stopped
    half way gets a new input.
    """
    if not any(graph["checkpointer"] == "true" for graph in graphs):
        return actions
    stops = any(
        graph["before"] or graph["after"] or _stops(node)
        for graph in graphs
        for node in graph["nodes"]
    )
    kept: list[Spec] = []
    begun: set[str | None] = set()
    for action in actions:
        edits = action["do"] in ("update", "bulk") or action.get("at") is not None
        anew = action.get("input") is not None and action.get("thread") in begun
        if not (stops and anew):
            kept.append(action)
        begun.add(action.get("thread"))
        if edits:
            break
    return kept


def _stops(node: Spec) -> bool:
    return any(step[0] in ("ask", "fail") for step in node["steps"])


def _next(dice: Dice, root: Spec, named: bool) -> Spec:
    """One action on a thread; an update that is not `named` is in that of whoever ran last."""
    kind = dice.weighted(
        run=2, resume=5, go_on=3, update=2, bulk=0.4, fork=1, replay=1.5, history=0.7, other=0.7
    )
    # "Updates for a deferred node"
    names = [node["name"] for node in root["nodes"] if not node["defer"]] or ["__start__"]
    if kind == "run":
        return a_run(dice, root)
    if kind == "other":
        return {**a_run(dice, root), "thread": "u"}
    if kind == "resume":
        mapped = dice.chance(0.4)
        answers = [f"yes{i}" for i in range(dice.number(1, 3) if mapped else 1)]
        streamed = some_modes(dice) if dice.chance(0.4) else None
        return {"do": "resume", "answers": answers, "mapped": mapped, "modes": streamed}
    if kind == "go_on":
        return {**a_run(dice, root), "input": None}
    if kind == "replay":
        return {"do": "invoke", "input": None, "at": dice.number(0, 6)}
    if kind == "history":
        return {"do": "history", "limit": dice.number(1, 3), "before": dice.number(0, 4)}
    if kind == "bulk":
        steps = [[written(dice, root), dice.one(names)] for _ in range(dice.number(1, 3))]
        return {"do": "bulk", "steps": steps}
    at = dice.number(0, 6) if kind == "fork" else None
    named = named or at is not None  # "Updates at an input"
    node = dice.one(names) if named or dice.chance(0.6) else None
    return {"do": "update", "values": written(dice, root), "node": node, "at": at}


ODD = ("__start__", "__input__", "__end__", "__copy__", "nobody")


def at_places(dice: Dice, root: Spec, actions: list[Spec]) -> list[Spec]:
    """A script with updates in odd names, at old checkpoints, and of several nodes at once."""
    names = [node["name"] for node in root["nodes"] if not node["defer"]] or ["__start__"]
    found: list[Spec] = []
    for action in actions:
        if found and dice.chance(0.5):
            node = dice.one([*ODD, *names])
            values = None if dice.chance(0.2) or node == "__copy__" else written(dice, root)
            at = dice.number(0, 6) if dice.chance(0.4) else None
            found.append({"do": "update", "values": values, "node": node, "at": at})
        if action["do"] == "update":  # "Updates after updates"
            action["node"] = action["node"] or dice.one(names)
        found.append(action)
        if dice.chance(0.4):
            go = {"do": "invoke", "input": None, "at": dice.number(0, 6)}
            found.append(dice.one([go, {**go, "at": None}, {**go, "input": written(dice, root)}]))
    _name_questions(found)
    return found


def a_run(dice: Dice, root: Spec) -> Spec:
    """A run with an input, at once or as a stream."""
    value = written(dice, root, full=True)
    if dice.chance(0.4):
        return {"do": "invoke", "input": value}
    # "States of subgraphs in streams of version 2"
    second = root["schema"] == "typed" and dice.chance(0.25)
    return {
        "do": "stream",
        "input": value,
        "modes": dice.some(MODES_OF_2, 1, 4) if second else some_modes(dice),
        "version": "v2" if second else None,
        "subgraphs": dice.chance(0.35),
        "stop": None,  # what is stored when a reader leaves depends on who was quicker
    }


def some_modes(dice: Dice) -> Any:
    """What a stream yields: one mode, or a list of them."""
    return dice.one(MODES) if dice.chance(0.3) else dice.some(MODES, 1, 4)


def written(dice: Dice, root: Spec, full: bool = False) -> list[str]:
    """The keys that are written; what they get is the affair of the text."""
    keys = root["input"] or [key for key in root["keys"] if key not in MANAGED]
    return (
        dice.some(keys, 1, 3)
        if not full
        else (["log"] if "log" in keys else keys[:1])
        + [k for k in dice.some(keys, 0, 2) if k != "log" and k != keys[0]]
    )
