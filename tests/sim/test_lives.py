"""Long lives of threads come to what a plain dict says, on every saver (see `lives`).

A failure prints the command that replays it. More seeds: `python -m tests.sim.lives --seeds 0:500`.
"""

from __future__ import annotations

import pytest
from tests.postgres.server import Server

from .lives import Kind, live

STEPS = 12


@pytest.mark.parametrize("seed", range(200, 212))
def test_every_checkpoint_reads_as_the_model_says_in_memory_and_in_sqlite(seed: int) -> None:
    savers: dict[Kind, str | None] = {"memory": None, "sqlite": None}
    live(seed, STEPS, savers)


@pytest.mark.parametrize("seed", range(220, 223))
def test_every_checkpoint_reads_as_the_model_says_in_postgres(
    seed: int, postgres_server: Server
) -> None:
    with postgres_server.database() as url:
        live(seed, STEPS, {"memory": None, "postgres": url})
