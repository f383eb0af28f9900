"""The families of runnables, and of what they are made of: messages, prompts, parsers, tools.

A family is a module of this folder with `lines(dice)`: the statements of one program, as text.
They may use every name of the files in `stage/`, and `look(call)` and `await alook(call)` to note
a result or an error.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from tests.differential.loading import Side
from tests.differential.normal import Difference, ErrorInfo, difference, normalise
from tests.differential.random.dice import Dice
from tests.differential.random.family import Family
from tests.differential.random.shrink_text import smaller
from tests.differential.random.sides import playing, stage, written

from . import (
    chains,
    histories,
    inner_graphs,
    messages,
    parsers,
    prompts,
    savers,
    stores,
    tool_parsers,
    tools,
)
from .expected import is_expected

STAGES = ("prelude", "telling", "graphs", "savers")


class Runnables(Family[str]):
    """Programs whose statements one module writes."""

    own_tries = 2

    def __init__(self, name: str, lines: Callable[[Dice], list[str]], sample: int = 40) -> None:
        super().__init__(name, range(sample))
        self._lines = lines

    def program(self, seed: int) -> str:
        lines = self._lines(Dice(f"{self.name}:{seed}"))
        return "\n".join(["async def case(env, look, alook):", *(f"    {line}" for line in lines)])

    def text(self, program: str) -> str:
        return program

    def smaller(self, program: str) -> Iterator[str]:
        return smaller(program)

    def play(self, program: str, side: Side) -> list[Any]:
        """What a program noted, as plain data."""
        noted: list[Any] = []
        with playing(side) as env, _written(program, side) as module:
            known = module.values_of_all

            async def alook(awaitable: Any) -> None:
                noted.append(normalise(known(await env.aerror(awaitable))))

            def look(call: Any) -> None:
                noted.append(normalise(known(env.error(call))))

            try:
                asyncio.run(module.case(env, look, alook))
            except Exception as error:  # ends the program, on both sides or there is a difference
                noted.append(normalise(ErrorInfo.of(error)))
        return noted

    def parted(self, program: str, oracle: list[Any], ours: list[Any]) -> Difference | None:
        kept = [(a, b) for a, b in zip(oracle, ours, strict=False) if not is_expected(a, b)]
        return difference([a for a, _ in kept], [b for _, b in kept])


def _written(program: str, side: Side) -> AbstractContextManager[ModuleType]:
    """The module of a program, with the names of the stage."""
    names: dict[str, Any] = {}
    for name in STAGES:
        names |= vars(stage("runnables", name, side))
    return written(program, side, names, readable=True)


RUNNABLES = [
    Runnables("messages", messages.lines, 30),
    Runnables("prompts", prompts.lines),
    Runnables("parsers", parsers.lines),
    Runnables("tool_parsers", tool_parsers.lines),
    Runnables("tools", tools.lines),
    Runnables("stores", stores.lines, 8),  # what takes longer has fewer
    Runnables("savers", savers.lines, 20),
    Runnables("chains", chains.lines),
    Runnables("histories", histories.lines),
    Runnables("inner_graphs", inner_graphs.lines, 20),
]
