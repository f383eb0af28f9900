"""Which graphs are generated: schemas, nodes, edges, subgraphs."""

from typing import Any

from tests.differential.random.dice import Dice, Spec

KEYS = {
    "n": ("int", "operator.add"),
    "log": ("list", "operator.add"),
    "d": ("dict", "merge"),
    "msgs": ("list", "add_messages"),
    "last": ("str", "latest"),
    "extra": ("str", "latest"),
    "bare": ("str", None),
}
"""The keys that a state may have: type and reducer. A subgraph's keys have the same names."""

MORE_KEYS: dict[str, tuple[str, str | None]] = {
    "steps": ("RemainingSteps", None),
    "is_last": ("IsLastStep", None),
    "tags": ("set", "operator.or_"),
    "frozen": ("frozenset", "operator.or_"),
    "price": ("float", "operator.add"),
    "text": ("str", "operator.add"),
    "flag": ("bool", "operator.or_"),
    "top": ("int", "most"),
    "queue": ("deque", "operator.add"),
    "topic": ("list", "Topic(str)"),
    "topics": ("list", "Topic(str, accumulate=True)"),
    "spark": ("str", "EphemeralValue(str, guard=False)"),
    "any": ("str", "AnyValue(str)"),
    "loose": ("str", "UntrackedValue(str, guard=False)"),
    "secret": ("str", "latest"),
}
"""Keys that wider programs have."""
MANAGED = ("steps", "is_last")
ODD_KEYS = ("tags", "frozen", "price", "text", "flag", "top", "queue")
LASTING_CHANNELS = ("topics", "loose")
CHANNELS_OF_A_STEP = ("topic", "spark", "any")


def graph_specs(dice: Dice) -> list[Spec]:
    """A root graph and the subgraphs that its nodes use, the innermost first."""
    depth = int(dice.weighted(**{"0": 6, "1": 3, "2": 1}))
    specs: list[Spec] = []
    for level in range(depth, -1, -1):
        specs.append(_graph(dice, "root" if level == 0 else f"g{level}", specs[-1:]))
    return specs


def side_by_side(dice: Dice) -> list[Spec]:
    """A root graph with several graphs in it; one of them may have one of its own."""
    specs = [_graph(dice, "g1", [])]
    for number in range(2, dice.number(2, 3) + 1):
        specs.append(_graph(dice, f"g{number}", specs[:1] if dice.chance(0.2) else []))
    specs.append(_graph(dice, "root", specs))
    used = [graph for graph in specs if any(has_inside(each, graph["name"]) for each in specs)]
    return [*used, specs[-1]]


def has_inside(graph: Spec, name: str) -> bool:
    """Whether a graph runs the one of that name."""
    return any(
        node.get("sub") == name or ["call", name] in node["steps"] for node in graph["nodes"]
    )


def _graph(dice: Dice, name: str, inner: list[Spec]) -> Spec:
    keys = ["log", *dice.some([k for k in KEYS if k not in ("log", "bare")], 1, 4)]
    if dice.chance(0.1):
        keys.append("bare")
    prefix = "" if name == "root" else name
    names = [f"{prefix}{letter}" for letter in "abcdefgh"[: dice.number(2, 4 if prefix else 7)]]
    nodes = [_node(dice, node, keys, names, name) for node in names]
    free = nodes
    for graph in inner:
        free = _put_inside(dice, free, graph)
    spec: Spec = {
        "name": name,
        "schema": dice.weighted(typed=6, pydantic=2, dataclass=2),
        "keys": keys,
        "input": dice.some(keys, 1) if dice.chance(0.12) else None,
        "output": dice.some(keys, 1) if dice.chance(0.15) else None,
        "nodes": nodes,
        "edges": _edges(dice, names),
        "paths": _paths(dice, names, keys),
        "checkpointer": _checkpointer(dice, inner) if prefix else "saver",
        "before": dice.some(names, 1, 2) if dice.chance(0.08) else [],
        "after": dice.some(names, 1, 2) if dice.chance(0.08) else [],
    }
    if sends(spec):  # "Deferred nodes beside a Send"
        for node in nodes:
            node["defer"] = False
    return spec


def _checkpointer(dice: Dice, inner: list[Spec]) -> str:
    """Without checkpoints are only innermost graphs ("Graphs inside one without checkpoints")."""
    kind = dice.weighted(none=6, true=2, false=1)
    return "none" if kind == "false" and inner else kind


def sends(spec: Spec) -> bool:
    """Whether a path or a Command of a graph sends."""
    gotos = [node["goto"] for node in spec["nodes"] if node["goto"]]
    return any(way["kind"] in ("send", "mix") for way in [*spec["paths"], *gotos])


def _put_inside(dice: Dice, nodes: list[Spec], inner: Spec) -> list[Spec]:
    """Makes one node (or two) the subgraph itself, or a function that calls it.

    Returns:
        The nodes that are left for others.
    """
    chosen = dice.some(nodes, 1, 1 if inner["checkpointer"] == "true" else 2)
    for node in chosen:
        if dice.chance(0.65):
            node["sub"] = inner["name"]
            node["steps"], node["goto"], node["retry"] = [], None, None
        else:
            node["steps"].insert(0, ["call", inner["name"]])
    return [node for node in nodes if node not in chosen]


def _node(dice: Dice, name: str, keys: list[str], names: list[str], graph: str) -> Spec:
    steps: list[list[Any]] = []
    if dice.chance(0.10):
        steps.append(["fail", sorted(dice.some([1, 2, 3, 4], 1, 2))])
    if dice.chance(0.14):
        steps += [["ask", index] for index in range(dice.number(1, 2))]
    if dice.chance(0.12):
        steps.append(["custom"])
    if dice.chance(0.06):
        steps.append(["fail", [dice.number(1, 3)]])
    if dice.chance(0.06):
        steps.append(["store"])
    writes = ["log", *dice.some([k for k in keys if k != "log"], 0, 2)]
    return {
        "name": name,
        "aio": dice.chance(0.7),
        "defer": dice.chance(0.06),
        "retry": dice.number(2, 3) if dice.chance(0.1) else None,
        "steps": steps,
        "writes": [] if dice.chance(0.05) else writes,
        "goto": _goto(dice, names, graph) if dice.chance(0.15) else None,
        # "Steps that could not end": a key without a reducer takes one write
        "several": dice.chance(0.05) and "bare" not in writes,
    }


def _goto(dice: Dice, names: list[str], graph: str) -> Spec:
    kind = dice.weighted(one=4, several=2, send=3, parent=1 if graph != "root" else 0)
    if kind == "parent":
        return {"kind": kind, "to": dice.some(["a", "b", "g1a", "g1b"], 0, 2)}
    targets = dice.some([*names, "END"], 1, 2)
    return {"kind": kind, "to": targets}


def _edges(dice: Dice, names: list[str]) -> list[list[Any]]:
    edges: list[list[Any]] = [["START", name] for name in dice.some(names[:3], 1, 2)]
    for index, name in enumerate(names[:-1]):
        if dice.chance(0.6):
            later = names[index + 1 :]
            edges += [[name, target] for target in dice.some(later, 1, 2)]
    if len(names) > 2 and dice.chance(0.3):
        edges.append([dice.some(names[:-1], 2, 3), names[-1]])
    if dice.chance(0.5):
        edges.append([names[-1], "END"])
    return edges


def _paths(dice: Dice, names: list[str], keys: list[str]) -> list[Spec]:
    paths: list[Spec] = []
    for name in dice.some(["START", *names], 0, 3):
        kind = dice.weighted(names=4, lists=2, send=2)
        targets = dice.some([*names, "END"], 1, 3)
        mapped = dice.weighted(none=4, dict=2, list=2) if kind == "names" else "none"
        paths.append(
            {"of": name, "kind": kind, "to": targets, "map": mapped, "aio": dice.chance(0.2)}
        )
    return paths
