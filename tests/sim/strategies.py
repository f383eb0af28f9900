"""How hypothesis draws graphs, and how a test that plays many schedules counts them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import process_time
from typing import Any

from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st

from .graphs import Spec, spec_from, spec_of_seed

TIMES = float(os.environ.get("PLAIT_SIM_TIMES", "0"))
"""A soak: so many times as many graphs, chosen anew each time. Unset: the same ones each time."""


@st.composite
def drawn(draw: st.DrawFn) -> Spec:
    """A graph of hypothesis's choice, which shrinks."""
    return spec_from(lambda most: draw(st.integers(0, most)))


def graphs() -> st.SearchStrategy[Spec]:
    """Graphs of both kinds: chosen by hypothesis, and plainly at random."""
    return drawn() | st.integers(0, 2**32).map(spec_of_seed)


def plays(number: int, block: int | None = None) -> Any:
    """Settings of a test over this many graphs; those of each block are others."""
    chosen = settings(
        max_examples=int(number * (TIMES or 1)),
        derandomize=not TIMES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    return chosen if block is None or TIMES else lambda test: seed(block)(chosen(test))


@dataclass
class Tally:
    """Counts schedules, and the CPU time that they take."""

    schedules: int = 0
    began: float = field(default_factory=process_time)

    def report(self, capsys: Any, what: str, *, at_least: int) -> None:
        """Print the rate; make sure that there were enough."""
        seconds = process_time() - self.began
        with capsys.disabled():
            print(
                f"\n[sim] {what}: {self.schedules} schedules in {seconds:.1f} s of CPU, "
                f"{self.schedules / seconds:.0f} a second"
            )
        assert self.schedules >= at_least
