"""Plays seeds by hand: `python -m tests.differential.random --help`."""

import argparse
import sys
from typing import Any

from .families import FAMILIES
from .family import Family
from .seeds import failure


def main(arguments: list[str] | None = None) -> int:
    """The command line: prints every seed on which the sides part; 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.random")
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; none is all")
    parser.add_argument("--seeds", default="0:100", help="first:end")
    parser.add_argument(
        "--text", action="store_true", help="print each program before it is played"
    )
    parser.add_argument("--shrink", action="store_true", help="make a program that differs smaller")
    options = parser.parse_args(arguments)
    if unknown := set(options.families) - set(FAMILIES):
        parser.error(f"no family {', '.join(sorted(unknown))}: there are {', '.join(FAMILIES)}")
    seeds = range(*map(int, options.seeds.split(":")))
    names = options.families or FAMILIES
    differ = [_play(FAMILIES[name], seeds, options.text, options.shrink) for name in names]
    return 1 if any(differ) else 0


def _play(family: Family[Any], seeds: range, text: bool, smaller: bool) -> int:
    """How many seeds of a family differ."""
    differ = 0
    for seed in seeds:
        if text:
            print(family.text(family.program(seed)), end="\n\n", flush=True)
        if told := failure(family, seed, smaller=smaller):
            differ += 1
            print(told, end="\n\n", flush=True)
    print(f"{family.name}: {len(seeds)} seeds, {differ} differ", flush=True)
    return differ


if __name__ == "__main__":
    sys.exit(main())
