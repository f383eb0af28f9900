"""Long lives of threads, at random, held to a plain dict (see `lives_world`).

    python -m tests.sim.lives --seeds 0:500 --saver memory sqlite postgres

A seed says everything. Half of the seeds have no trouble at storage requests: those come to the
same, rows too, on every saver.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .lives_world import Kind, World


@contextmanager
def world(seed: int, kind: Kind, url: str | None = None) -> Iterator[World]:
    """A world over a new database."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = World(seed, kind, url if kind == "postgres" else Path(folder) / "lives.db")
        try:
            yield made
        finally:
            made.close()


def live(seed: int, steps: int, kinds: dict[Kind, str | None]) -> int:
    """Play a seed on some savers; those without trouble must agree. Returns the deaths."""
    rows: dict[str, Any] = {}
    deaths = 0
    for kind, url in kinds.items():
        with world(seed, kind, url) as made:
            try:
                made.live(steps)
                if not made.cuts:
                    rows[kind] = made.rows()
                    same_rows(next(iter(rows.values())), rows[kind])
            except BaseException as error:
                error.add_note(
                    f"python -m tests.sim.lives --seeds {seed}:{seed + 1} --steps {steps} "
                    f"--saver {kind}   after {made.done}"
                )
                raise
            deaths += made.deaths
    return deaths


def same_rows(some: list[Any], others: list[Any]) -> None:
    """Two savers hold the same rows."""
    odd = [pair for pair in zip(some, others, strict=False) if pair[0] != pair[1]]
    assert not odd, f"savers differ: {len(odd)} rows: {odd[:4]}"
    assert len(some) == len(others), f"savers differ: {len(some)} rows, {len(others)}"


def main() -> None:
    """Play seeds, and tell how far they came."""
    from tests.postgres.server import Server  # needs a server only where it is asked for

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:100")
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--saver", nargs="+", default=["memory", "sqlite"])
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    server = Server.find() if "postgres" in given.saver else None
    deaths = 0
    try:
        for seed in range(first, last):
            if server is None:
                deaths += live(seed, given.steps, dict.fromkeys(given.saver))
                continue
            with server.database() as url:
                kinds = {k: url if k == "postgres" else None for k in given.saver}
                deaths += live(seed, given.steps, kinds)
    finally:
        if server is not None:
            server.stop()
    print(f"right: {last - first} lives of {given.steps} steps, {deaths} deaths")


if __name__ == "__main__":
    main()
