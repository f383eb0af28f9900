"""The family of Haystack's agents: what a program is, and when two results agree."""

import pprint
import re
from collections.abc import Iterator
from typing import Any

from tests.differential.loading import Side
from tests.differential.normal import Difference, difference, normalise
from tests.differential.random.dice import Dice, Spec
from tests.differential.random.family import Family
from tests.differential.random.shrink import Parts
from tests.differential.random.sides import playing, stage

from .haystack import haystack

_OWN_WORDS = re.compile(r"(not found in schema)\. .*", re.DOTALL)
STAGES = ("tools", "play")
PARTS = Parts(
    kept=frozenset(
        ("tools", "script", "actions", "do", "name", "args", "at", "visit", "role", "messages")
    ),
    whole=frozenset(("args", "given", "origin", "meta", "outputs_to_state", "outputs_to_string")),
)


class Haystack(Family[Spec]):
    """Programs with Haystack's Agent."""

    def __init__(self) -> None:
        super().__init__("haystack", range(20))

    def program(self, seed: int) -> Spec:
        return haystack(Dice(f"haystack {seed}"))

    def text(self, program: Spec) -> str:
        return pprint.pformat(program, width=100, sort_dicts=False)

    def smaller(self, program: Spec) -> Iterator[Spec]:
        return PARTS.smaller(program)

    def play(self, program: Spec, side: Side) -> Any:
        with playing(side) as env:
            *_, module = [stage("haystack", name, side) for name in STAGES]
            try:
                return normalise(module.play(program, env))
            except Exception as error:
                return normalise({"escaped": error})

    def parted(self, program: Spec, oracle: Any, ours: Any) -> Difference | None:
        found = difference(_plain(oracle), _plain(ours))
        if found and difference(_settled(oracle), _settled(ours)) is None:
            return None
        return found


def _plain(value: Any) -> Any:
    """A result without what each side says in its own words."""
    if isinstance(value, str):
        return _OWN_WORDS.sub(r"\1", value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return type(value)(map(_plain, value)) if isinstance(value, list | tuple) else value


def _settled(result: Any) -> Any:
    """A result whose chunks are sorted: tools that run at once tell theirs in any order."""
    if "played" not in result:
        return result
    played = [(found, sorted(heard, key=repr)) for found, heard in result["played"]]
    return _plain({**result, "played": played})
