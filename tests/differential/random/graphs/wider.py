"""What some programs have besides: each changes what was generated, by chance of its own."""

from collections.abc import Callable

from tests.differential.random.dice import Dice, Spec

from .graphs import CHANNELS_OF_A_STEP, LASTING_CHANNELS, MANAGED, ODD_KEYS, sends
from .scripts import at_places
from .text import may_store_at_once

Wider = Callable[[Dice, Spec], None]


def widen(dice: Dice, program: Spec) -> None:
    """Adds one or two features to most programs."""
    if dice.chance(0.75):
        for feature in dice.some(FEATURES, 1, 2):
            feature(dice, program)


def _nodes(program: Spec) -> list[Spec]:
    return [node for graph in program["graphs"] for node in graph["nodes"]]


def _functions(program: Spec) -> list[Spec]:
    return [node for node in _nodes(program) if not node.get("sub")]


def _runs(program: Spec) -> list[Spec]:
    return [each for each in program["script"] if each["do"] in ("invoke", "stream", "resume")]


def _option(dice: Dice, program: Spec, probability: float, options: list[str]) -> None:
    """Gives some runs a keyword."""
    for action in _runs(program):
        if dice.chance(probability):
            action["options"] = [*action.get("options", []), dice.one(options)]


def _steps(program: Spec, *kinds: str) -> bool:
    return any(step[0] in kinds for node in _nodes(program) for step in node["steps"])


def _stops(program: Spec) -> bool:
    """Whether a run may stop within a super-step."""
    breaks = any(graph["before"] or graph["after"] for graph in program["graphs"])
    return breaks or _steps(program, "ask", "fail")


def _failing(dice: Dice, program: Spec) -> None:
    """Several nodes that fail at once, one a moment after the other."""
    if _steps(program, "ask"):
        return
    root = program["graphs"][-1]
    nodes = [node for node in root["nodes"] if not node.get("sub")]
    for late, node in enumerate(dice.some(nodes, 2, 3)):
        calls = sorted(dice.some([1, 1, 2, 3], 1, 2))
        node["steps"] = [["fail", calls, late]]
    if program["aio"]:
        for node in _nodes(program):
            node["aio"] = True


def _caches(dice: Dice, program: Spec) -> None:
    """Nodes whose results are kept, with or without retries."""
    for graph in program["graphs"]:
        alike = sends(graph)  # "Cached results of tasks alike"
        for node in graph["nodes"]:
            asks = any(step[0] == "ask" for step in node["steps"])  # "Cached results and answers"
            if not node.get("sub"):
                node["cache"] = not asks and not alike and dice.chance(0.5)
    program["cache"] = True


def _context(dice: Dice, program: Spec) -> None:
    """Nodes that ask their runtime."""
    program["context"] = dice.one(["typed", "pydantic", "dataclass"])
    for node in _functions(program):
        node["runtime"] = dice.chance(0.6)
    for action in _runs(program):
        action["options"] = [*action.get("options", []), f"context={{'user': '{dice.one('ab')}'}}"]


def _keys(dice: Dice, program: Spec, keys: tuple[str, ...], most: int) -> None:
    for graph in program["graphs"]:
        more = dice.some(keys, 1, most)
        graph["keys"] = [*graph["keys"], *more]
        if graph["output"] and dice.chance(0.5):
            graph["output"] = [*graph["output"], *dice.some(more, 1)]
        for node in graph["nodes"]:
            if not node.get("sub") and dice.chance(0.5):
                node["writes"] = [*node["writes"], *dice.some(more, 1, 2)]


def _managed(dice: Dice, program: Spec) -> None:
    """Values that the run itself knows."""
    for graph in program["graphs"]:
        graph["keys"] = [*graph["keys"], *dice.some(MANAGED, 1)]
    _option(dice, program, 0.3, [f"limit={n}" for n in (1, 2, 3, 5)])


def _channels(dice: Dice, program: Spec) -> None:
    """Keys with channels of their own."""
    if _stops(program):  # "Values of one super-step"
        _keys(dice, program, LASTING_CHANNELS, 3)
    else:
        _keys(dice, program, (*LASTING_CHANNELS, *CHANNELS_OF_A_STEP), 3)
        first, *others = program["script"]
        goes_on = [each for each in others if each["do"] == "history" or not each.get("input")]
        program["script"] = [first, *(each for each in goes_on if each["do"] != "bulk")]


def _odd_keys(dice: Dice, program: Spec) -> None:
    """Keys with reducers over other types."""
    _keys(dice, program, ODD_KEYS, 3)


def _breakpoints(dice: Dice, program: Spec) -> None:
    """Static breakpoints everywhere, or of one run."""
    root = program["graphs"][-1]
    names = [node["name"] for node in root["nodes"]]
    if dice.chance(0.4):
        root[dice.one(["before", "after"])] = ["*"]
    lists = [dice.some(names, 1, 2) for _ in range(2)]
    given = ["'*'", *map(repr, lists)]
    _option(
        dice,
        program,
        0.4,
        [f"interrupt_{when}={nodes}" for when in ("before", "after") for nodes in given],
    )


def _durability(dice: Dice, program: Spec) -> None:
    """When what happens is stored."""
    if not may_store_at_once(program):
        return
    shows = ("checkpoints", "debug")  # "Parents in streams with `exit`"
    inside = len(program["graphs"]) > 1 and _stops(program)  # "Graphs that ended in an `exit` run"
    for action in _runs(program):
        modes = action.get("modes") or []
        at_once = inside or any(mode in modes for mode in shows)
        kinds = ["sync"] if at_once else ["exit", "sync"]
        if dice.chance(0.6):
            kind = f"durability={dice.one(kinds)!r}"
            action["options"] = [*action.get("options", []), kind]


def _mixes(dice: Dice, program: Spec) -> None:
    """A Command that goes to nodes and sends at once."""
    for graph in program["graphs"]:
        nodes = [node for node in graph["nodes"] if not node.get("sub") and not node["goto"]]
        if len(nodes) < 2:
            continue
        first, *others = dice.mixed(nodes, len(nodes), len(nodes))
        names = [node["name"] for node in others]  # none that goes on and on
        first["goto"] = {"kind": "mix", "to": dice.some(names, 1, 2), "send": dice.one(names)}
        for node in graph["nodes"]:
            node["defer"] = False  # "Deferred nodes beside a Send"


def _deferred(dice: Dice, program: Spec) -> None:
    """Nodes that wait for all others."""
    edits = [each for each in program["script"] if each["do"] in ("update", "bulk")]
    for graph in program["graphs"]:
        if not sends(graph):
            for node in graph["nodes"]:  # "Updates for a deferred node"
                node["defer"] = dice.chance(0.35) and f"'{node['name']}'" not in str(edits)


def _private(dice: Dice, program: Spec) -> None:
    """Nodes that read what no schema of the graph names."""
    for graph in program["graphs"]:
        nodes = [node for node in graph["nodes"] if not node.get("sub")]
        for node in dice.some(nodes, 1, 2):
            node["reads"] = dice.one(["typed", "pydantic", "dataclass"])
        for node in dice.some(nodes, 1, 3):
            node["writes"] = [*node["writes"], "secret"]


def _places(dice: Dice, program: Spec) -> None:
    """Updates, replays and forks at odd places."""
    if program["saved"] and not any(g["checkpointer"] == "true" for g in program["graphs"]):
        program["script"] = at_places(dice, program["graphs"][-1], program["script"])


def _left(dice: Dice, program: Spec) -> None:
    """Streams that are left half read; what goes on then ends the same."""
    if not program["saved"] or _steps(program, "fail", "store", "ask"):
        return
    if any(graph["checkpointer"] == "true" for graph in program["graphs"]):
        return
    script: list[Spec] = []
    for action in program["script"]:
        script.append(action)
        if action["do"] == "stream" and action["input"] is not None and dice.chance(0.8):
            action["stop"] = dice.number(1, 8)
            script.append({"do": "invoke", "input": None})
    program["script"] = script


FEATURES: list[Wider] = [
    *(_failing, _breakpoints, _mixes, _caches, _context, _managed, _odd_keys, _deferred),
    *(_private, _durability, _places, _left, _channels),
]
"""In the order in which they are added: what is left out of a later one depends on earlier ones."""
