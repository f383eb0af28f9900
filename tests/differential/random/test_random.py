"""Random programs give the same results on both sides.

The gate plays a sample of each family; a failure prints the program and the command that plays it
again. `PLAIT_RANDOM_SEEDS=0:500` plays others, and `-k chains` those of one family only.
"""

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.differential.normal import Difference, difference

from .families import FAMILIES
from .family import Family
from .seeds import failure
from .shrink import Parts, shrink
from .shrink_text import smaller
from .sides import playing


def _seeds(family: str) -> range | list[int]:
    asked = os.environ.get("PLAIT_RANDOM_SEEDS")
    return range(*map(int, asked.split(":"))) if asked else list(FAMILIES[family].sample)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_programs_give_the_same_on_both(family: str) -> None:
    told = [failure(FAMILIES[family], seed) for seed in _seeds(family)]
    assert not any(told), "\n\n".join(text for text in told if text)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_seed_always_stands_for_the_same_program(family: Family[Any]) -> None:
    assert family.text(family.program(7)) == family.text(family.program(7))
    assert family.text(family.program(7)) != family.text(family.program(8))


class _Told(Family[str]):
    """A family with one program, whose sides agree only from the given time on."""

    def __init__(self, agrees: int) -> None:
        super().__init__("told", [3])
        self._agrees = agrees
        self.played: list[str] = []

    def program(self, seed: int) -> str:
        return f"look({seed})\nlook([1, side])"

    def text(self, program: str) -> str:
        return program

    def play(self, program: str, side: str) -> Any:
        self.played.append(side)
        late = self.played.count(side) >= self._agrees
        return {"of": "both" if late or "side" not in program else side}

    def parted(self, program: str, oracle: Any, ours: Any) -> Difference | None:
        return difference(oracle, ours)

    def smaller(self, program: str) -> Iterator[str]:
        return smaller(program)


def test_a_difference_is_shrunk_and_told_with_its_replay() -> None:
    told = failure(_Told(agrees=1000), 3, smaller=True)
    assert told is not None
    assert "plait:     'plait'" in told
    assert "\n\nside\n\n" in told
    assert "told --seeds 3:4" in told


def test_a_peer_that_races_is_asked_again_and_plait_is_not() -> None:
    family = _Told(agrees=2)
    assert family.compare("side") is not None  # plait answers once, and not as the peer ever does
    assert family.played == ["langgraph", "plait", "langgraph"]


def test_plait_is_asked_again_where_it_answers_in_several_orders() -> None:
    family = _Told(agrees=2)
    family.own_tries = 2
    assert family.compare("side") is None


def test_a_program_that_hangs_is_stopped_though_it_catches_errors() -> None:
    def play() -> None:
        with playing("plait", seconds=1) as env:
            env.error(threading.Event().wait)

    with pytest.raises(TimeoutError, match="on plait"):
        play()


def test_shrinking_data_leaves_out_what_is_not_needed() -> None:
    program = {"kind": "x", "tools": [{"name": "add"}, {"name": "echo"}], "version": ["v1"]}
    parts = Parts(kept=frozenset(("kind", "name", "tools")))
    shown = shrink(program, parts.smaller, lambda p: {"name": "echo"} in p["tools"])
    assert shown == {"kind": "x", "tools": [{"name": "echo"}]}


def test_shrinking_data_whose_keys_stay_empties_them() -> None:
    program = {"aio": True, "input": {"a": 1}, "nodes": [["ask", 2], ["call", ["g1"]]]}
    parts = Parts(emptied=True)
    shown = shrink(program, parts.smaller, lambda p: "call" in str(p))
    assert shown == {"aio": False, "input": None, "nodes": [["call"]]}


def test_shrinking_text_keeps_what_fails() -> None:
    text = "def f():\n    a(1, b([2, 3]), c=d(4))\n    e()"
    assert shrink(text, smaller, lambda t: "d(" in t) == "def f():\n    d()"
