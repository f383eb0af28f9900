"""Play one schedule and tell what happened: `python -m tests.sim.replay --graph G --seed N`.

`--graph` is a graph's choices, as a failing test prints them; without it, the seed stands for the
graph too.
"""

from __future__ import annotations

import argparse
from pprint import pprint

from .graphs import spec_of_seed, spec_of_text
from .schedules import Schedule, check_course, check_effects, expected, play


def main() -> None:
    """Print the graph, what happened, and whether it is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", default=None)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--crashes", type=int, default=0)
    parser.add_argument("--zombies", type=int, default=0)
    parser.add_argument("--driver", choices=["sim", "sync", "async"], default="sim")
    parser.add_argument("--native", choices=["sync", "async"], default="sync")
    parser.add_argument("--durability", choices=["sync", "async"], default="sync")
    given = vars(parser.parse_args())
    given["graph"] = given["graph"] or spec_of_seed(given["seed"]).text
    schedule = Schedule(**given)
    pprint(spec_of_text(schedule.graph))
    played = play(schedule)
    for each in played.trace:
        print(f"{each.what:>9} {each.detail!s:>12} {each.id}")
    model = expected(schedule.graph)
    check_course(played, model, died=played.deaths + played.zombies > 0)
    check_effects(played.trace)
    print(f"right: {len(model.steps)} checkpoints, {played.lives} runs, {played.deaths} deaths, "
          f"{played.zombies} zombies")  # fmt: skip


if __name__ == "__main__":
    main()
