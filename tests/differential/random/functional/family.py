"""Families of the functional API: tasks and entrypoints as text, and what is done with them."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.differential.loading import Side
from tests.differential.normal import Difference
from tests.differential.random.dice import Dice
from tests.differential.random.family import Family
from tests.differential.random.graphs.family import parted, played
from tests.differential.random.shrink_text import smaller

from . import programs, wider


class Functional(Family[str]):
    """Entrypoints and scripts of runs, answers and looks.

    Args:
        written: the program that some dice give, as text.
    """

    tries = 4
    own_tries = 2

    def __init__(self, name: str, written: Callable[[Dice], str]) -> None:
        super().__init__(name, range(20))
        self._written = written

    def program(self, seed: int) -> str:
        return self._written(Dice(f"{self.name}:{seed}"))

    def text(self, program: str) -> str:
        return program

    def smaller(self, program: str) -> Iterator[str]:
        return smaller(program)

    def play(self, program: str, side: Side) -> tuple[Any, Any]:
        return played(program, side, "memory")

    def parted(
        self, program: str, oracle: tuple[Any, Any], ours: tuple[Any, Any]
    ) -> Difference | None:
        return parted(oracle, ours)


FUNCTIONAL = Functional("functional", programs.text)
WORKFLOWS = Functional("workflows", wider.text)
