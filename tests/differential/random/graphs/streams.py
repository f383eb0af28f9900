"""Streams of graphs that hold others side by side: all modes at once, with what is inside."""

from tests.differential.random.dice import Dice, Spec

from .graphs import side_by_side
from .scripts import MODES, MODES_OF_2, a_run, remembering
from .spec import take_out, tidy


def streaming(seed: int) -> Spec:
    """The program of a seed, as data."""
    dice = Dice(f"streams:{seed}")
    graphs = side_by_side(dice)
    take_out(graphs, "store")  # tasks that run at once would count in any order
    aio = dice.chance(0.5)
    tidy(dice, graphs, aio)
    _send_no_senders(graphs)
    script = [_stream(dice, graphs[-1])]
    script += [_action(dice, graphs[-1]) for _ in range(dice.number(1, 4))]
    return {
        "aio": aio,
        "saved": True,
        "kind": "memory" if dice.chance(0.7) else "sqlite",
        "graphs": graphs,
        "script": remembering(graphs, script),
    }


def _send_no_senders(graphs: list[Spec]) -> None:
    """Leaves out what a node sends to one that sends, too: what is sent is small, so that neither
    stops by itself, and there may be twice as many with each super-step."""
    for graph in graphs:
        senders = {n["name"] for n in graph["nodes"] if n["goto"] and n["goto"]["kind"] == "send"}
        for node in graph["nodes"]:
            if node["name"] in senders:
                node["goto"]["to"] = [name for name in node["goto"]["to"] if name not in senders]


def _stream(dice: Dice, root: Spec) -> Spec:
    """A run as a stream of many modes."""
    second = root["schema"] == "typed" and dice.chance(0.3)
    found: Spec = {
        "do": "stream",
        "input": a_run(dice, root)["input"],
        "modes": dice.some(MODES_OF_2 if second else MODES, 2, 7),
        # "States of subgraphs in streams of version 2"
        "version": "v2" if second else None,
        "subgraphs": dice.chance(0.85),
        "stop": None,
    }
    if dice.chance(0.3):
        found["options"] = [f"print_mode={dice.some(MODES, 1, 3)!r}"]
    return found


def _action(dice: Dice, root: Spec) -> Spec:
    kind = dice.weighted(go_on=3, answered=5, anew=2, other=1)
    stream = _stream(dice, root)
    if kind == "go_on":
        return {**stream, "input": None}
    if kind == "other":
        return {**stream, "thread": "u"}
    if kind == "anew":
        return stream
    answers = [f"yes{number}" for number in range(dice.number(1, 3))]
    kept = ("modes", "subgraphs", "version", "options")
    given = {key: stream[key] for key in kept if key in stream}
    return {"do": "resume", "answers": answers, "mapped": True, **given}
