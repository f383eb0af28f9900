"""Random programs give the same results on both sides; a failure prints the program and a replay.

The gate runs a sample. `PLAIT_RANDOM_SEEDS=0:5000` runs more, `running.py` runs them by hand.
"""

import os

import pytest

from . import running
from .shrink import shrunk

SAMPLE = {"messages": 30, "stores": 8}  # what takes longer has fewer


def _seeds(family: str) -> range:
    given = os.environ.get("PLAIT_RANDOM_SEEDS")
    first, end = map(int, given.split(":")) if given else (0, SAMPLE.get(family, 40))
    return range(first, end)


@pytest.mark.parametrize("family", running.FAMILIES)
def test_random_programs_give_the_same_on_both(family: str) -> None:
    told = [running.failure(family, seed) for seed in _seeds(family)]
    assert not any(told), "\n\n".join(text for text in told if text)


def test_one_seed_is_always_the_same_program() -> None:
    for family in running.FAMILIES:
        assert running.program(family, 7) == running.program(family, 7)


def test_a_difference_is_found_shrunk_and_told_with_its_replay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "async def case(env, look, alook):\n    look(lambda: 1)\n    look(lambda: [1, name])"
    named = f"name = RunnableLambda.__module__\n{text}"
    monkeypatch.setattr(running, "program", lambda _family, _seed: named)
    told = running.failure("chains", 3)
    assert told is not None
    assert "plait: " in told
    assert "chains --seeds 3:4" in told
    assert "[1," not in told  # shrunk


def test_shrinking_keeps_what_fails() -> None:
    text = "def f():\n    a(1, b([2, 3]), c=d(4))\n    e()"
    assert shrunk(text, lambda t: "d(" in t) == "def f():\n    d()"
