"""What a family of random programs is: how a seed becomes a program, and when two results agree."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Generic, TypeVar

from tests.differential.loading import Side
from tests.differential.normal import Difference

P = TypeVar("P")
"""A program: data or text."""


class Family(ABC, Generic[P]):
    """Random programs of one kind.

    Args:
        name: what it is called on the command line.
        sample: the seeds that the gate plays.
    """

    tries = 2
    """How often the peer is asked, which may race with itself."""
    own_tries = 1
    """How often plait is asked, where it may answer in several orders, too."""

    def __init__(self, name: str, sample: Sequence[int]) -> None:
        self.name = name
        self.sample = sample

    @abstractmethod
    def program(self, seed: int) -> P:
        """The program of a seed; always the same."""

    @abstractmethod
    def text(self, program: P) -> str:
        """A program as it is printed."""

    @abstractmethod
    def play(self, program: P, side: Side) -> Any:
        """What comes of a program on one side."""

    @abstractmethod
    def parted(self, program: P, oracle: Any, ours: Any) -> Difference | None:
        """Where two results part; None where they agree."""

    @abstractmethod
    def smaller(self, program: P) -> Iterator[P]:
        """Every program that is this one without one of its parts."""

    def compare(self, program: P, tries: int | None = None) -> Difference | None:
        """Where the sides part, None if one of plait's answers is one of the peer's."""
        theirs: list[Any] = []
        ours: list[Any] = []
        found: list[Difference | None] = []
        for attempt in range(tries or self.tries):
            theirs.append(self.play(program, "langgraph"))
            if attempt < self.own_tries:
                ours.append(self.play(program, "plait"))
            found = [self.parted(program, *pair) for pair in product(theirs, ours)]
            if None in found:
                return None
        return found[-1]
