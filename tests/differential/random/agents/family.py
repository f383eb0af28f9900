"""The families of agents: `react`, `agents`, `teams`, `nodes` and `reviews`.

A program is plain data: what the scripted model says, which tools, hooks and options the agent has,
and what is done with it. The files in `stage/` play it (written against the peers, their import
roots replaced for plait).
"""

import pprint
from collections.abc import Callable, Iterator
from typing import Any

from tests.differential.harness import ORACLE_TRIES
from tests.differential.loading import Side
from tests.differential.normal import Difference
from tests.differential.random.dice import Dice, Spec
from tests.differential.random.family import Family
from tests.differential.random.shrink import Parts
from tests.differential.random.sides import playing, stage

from .agents import agents
from .compare import parted
from .nodes import nodes, reviews
from .react import react
from .teams import teams

_REACT = ("models", "tools", "structures", "actions", "react")
_AGENTS = (*_REACT, "hooks", "shipped", "agents")
STAGES = {
    "react": _REACT,
    "agents": _AGENTS,
    "teams": (*_AGENTS, "teams"),
    "nodes": (*_REACT, "hooks", "nodes"),
}
"""Which files of the stage a program needs, in the order of their imports."""

PARTS = Parts(
    kept=frozenset(
        (
            *("family", "name", "do", "script", "actions", "model", "tools", "kind", "args", "id"),
            *("error", "options", "system_prompt", "blocks", "by", "to", "ask", "form"),
        )
    ),
    whole=frozenset(("args", "blocks", "input", "profile", "values")),
)


class Agents(Family[Spec]):
    """Programs that one maker draws."""

    tries = ORACLE_TRIES

    def __init__(self, maker: Callable[[Dice], Spec]) -> None:
        super().__init__(maker.__name__, range(10))
        self._maker = maker

    def program(self, seed: int) -> Spec:
        return self._maker(Dice(f"{self.name} {seed}"))

    def text(self, program: Spec) -> str:
        return pprint.pformat(program, width=100, sort_dicts=False)

    def smaller(self, program: Spec) -> Iterator[Spec]:
        return PARTS.smaller(program)

    def play(self, program: Spec, side: Side) -> Any:
        """What comes of a program, as its stage returns it."""
        with playing(side) as env:
            *_, module = [stage("agents", name, side) for name in STAGES[program["family"]]]
            try:
                return module.play(program, env)
            except Exception as error:
                return {"escaped": error}

    def parted(self, program: Spec, oracle: Any, ours: Any) -> Difference | None:
        return parted(program, oracle, ours)


AGENTS = [Agents(maker) for maker in (react, agents, teams, nodes, reviews)]
