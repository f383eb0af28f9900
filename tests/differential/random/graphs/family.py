"""The family `graphs`: state graphs as data, written as text, and what is done with them."""

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.differential.loading import Side
from tests.differential.normal import Difference, difference, normalise
from tests.differential.random.dice import Spec
from tests.differential.random.family import Family
from tests.differential.random.shrink import Parts
from tests.differential.random.sides import playing, written

from .compare import comparable, in_order, until_it_breaks
from .insides import inside
from .spec import at_once, generate
from .streams import streaming
from .text import program as text_of
from .travels import travel

GATE = list(range(1000, 1016))
"""Seeds on which both agree today: a change of plait is to keep them."""


class Graphs(Family[Spec]):
    """Graphs, subgraphs and scripts of runs, answers, updates and looks.

    Args:
        generated: the program of a seed, as data.
    """

    tries = 4
    own_tries = 2

    def __init__(self, name: str, sample: Sequence[int], generated: Callable[[int], Spec]) -> None:
        super().__init__(name, sample)
        self._generated = generated

    def program(self, seed: int) -> Spec:
        return self._generated(seed)

    def text(self, program: Spec) -> str:
        return text_of(program)

    def smaller(self, program: Spec) -> Iterator[Spec]:
        return Parts(emptied=True).smaller(program)

    def play(self, program: Spec, side: Side) -> tuple[Any, Any]:
        """What a program returns, as plain data: in order, and sorted."""
        edited = any(action["do"] in ("update", "bulk") for action in program["script"])
        remembers = any(graph["checkpointer"] == "true" for graph in program["graphs"])
        left = any(action.get("stop") for action in program["script"])
        breaks = remembers or left or at_once(program["graphs"])
        return played(text_of(program), side, program["kind"], results=not edited, breaks=breaks)

    def parted(
        self, program: Spec, oracle: tuple[Any, Any], ours: tuple[Any, Any]
    ) -> Difference | None:
        found = parted(oracle, ours)
        if found and any(graph["checkpointer"] == "false" for graph in program["graphs"]):
            return parted(_without_ids(oracle), _without_ids(ours))
        return found


def _without_ids(value: Any) -> Any:
    """A plain result whose ids are all alike: of a graph without checkpoints, tasks that run again
    keep theirs on one side ("Questions of graphs without checkpoints")."""
    if isinstance(value, str):
        return _ID.sub("<id>", value)
    if isinstance(value, dict):
        return {_without_ids(key): _without_ids(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_without_ids, value))
    return value


_ID = re.compile(r"<id:\d+>")


def played(
    text: str, side: Side, kind: str, *, results: bool = True, breaks: bool = False
) -> tuple[Any, Any]:
    """The record of a program, as plain data: in order, and sorted.

    Args:
        text: the program.
        side: where it is played.
        kind: of its saver.
        results: whether results of tasks count ("Results of tasks that were updated").
        breaks: whether what follows a run that broke off does not count: a graph inside has memory
            ("Memory of a subgraph after a fork"), or may run several times at once; or a stream was
            left, and how far it had come counts for a limit.
    """
    try:
        with playing(side, kind) as env, written(text, side) as module:
            record = module.case_random(env)
            if inspect.iscoroutine(record):
                record = asyncio.run(record)
            if breaks:
                record = until_it_breaks(record)
            return (
                comparable(normalise(record), results=results),
                comparable(normalise(in_order(record)), results=results),
            )
    except Exception as error:  # of time, too: a state may double with each step, on both sides
        raised = normalise(("raised", error))
        return raised, raised


def parted(oracle: tuple[Any, Any], ours: tuple[Any, Any]) -> Difference | None:
    """Where they part both in order, and once what races is sorted: what is told is the latter."""
    return difference(oracle[0], ours[0]) and difference(oracle[1], ours[1])


GRAPHS = Graphs("graphs", GATE, generate)
TRAVELS = Graphs("travels", range(16), travel)
INSIDES = Graphs("insides", range(16), inside)
STREAMS = Graphs("streams", range(16), streaming)
