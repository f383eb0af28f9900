"""Programs with agents that chance has made do the same on both sides.

The gate plays a sample. `PLAIT_RANDOM_AGENTS=500` plays so many of each family instead, and
`PLAIT_RANDOM_AGENTS_FROM=1000` begins with another seed. One program:
`.venv/bin/python -m tests.differential.random_agents react --seed 7 --shrink`.
"""

import os

import pytest

from .__main__ import replay, text_of
from .make import MAKERS, make
from .shrink import shrink
from .sides import compare, quiet

COUNT = int(os.environ.get("PLAIT_RANDOM_AGENTS", "10"))
FIRST = int(os.environ.get("PLAIT_RANDOM_AGENTS_FROM", "0"))


@pytest.fixture(autouse=True)
def _quiet() -> None:
    quiet()


@pytest.mark.parametrize("family", list(MAKERS))
def test_made_programs_do_the_same_on_both(family: str) -> None:
    for seed in range(FIRST, FIRST + COUNT):
        program = make(family, seed)
        if found := compare(program):
            pytest.fail(f"{family} {seed}\n{found}\n{text_of(program)}\n{replay(family, seed)}")


@pytest.mark.parametrize("family", list(MAKERS))
def test_a_seed_always_stands_for_the_same_program(family: str) -> None:
    assert make(family, 3) == make(family, 3)
    assert make(family, 3) != make(family, 4)


def test_a_program_is_shrunk_to_what_shows_the_difference() -> None:
    program = {"family": "react", "tools": [{"name": "add"}, {"name": "echo"}], "version": "v1"}
    shown = shrink(program, lambda one: any(tool["name"] == "echo" for tool in one["tools"]))
    assert shown == {"family": "react", "tools": [{"name": "echo"}]}
