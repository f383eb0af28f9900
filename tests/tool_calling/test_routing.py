"""An approval reaches its own call, and nothing else runs: 1,000 turns, each in its own order."""

import pytest

from .play import REPLAY, play

SEEDS = 1_000
BLOCKS = 10


@pytest.mark.parametrize("block", range(BLOCKS))
def test_parallel_approvals_with_random_delays_are_never_misrouted(block):
    for seed in range(block * SEEDS // BLOCKS, (block + 1) * SEEDS // BLOCKS):
        try:
            play(seed)
        except BaseException as error:
            error.add_note(f"Replay it: {REPLAY.format(seed=seed)}")
            raise
