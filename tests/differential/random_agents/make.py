"""Draws the program of a seed."""

from collections.abc import Callable

from .agents import agents
from .chance import Chance
from .nodes import nodes, reviews
from .react import react
from .scripts import Spec

MAKERS: dict[str, Callable[[Chance], Spec]] = {
    "react": react,
    "agents": agents,
    "nodes": nodes,
    "reviews": reviews,
}


def make(family: str, seed: int) -> Spec:
    """The program that a seed stands for; always the same."""
    return MAKERS[family](Chance(seed, family))
