"""Programs with agents, made by chance from a seed, run on the peers and on plait.

A program is plain data: what the scripted model says, which tools, hooks and options the agent has,
and what is done with it. `make.py` draws one from a seed, the files in `stage/` play it (written
against the peers, their import roots replaced for plait), `sides.py` compares, and `shrink.py`
makes a program that differs as small as it can be. One is played again by
`python -m tests.differential.random_agents react --seed 7`.
"""

import argparse
import pprint
import re
import sys
import traceback
from collections.abc import Callable

from .make import MAKERS, make
from .shrink import shrink
from .sides import Program, compare, quiet


def text_of(program: Program) -> str:
    """A program as it is printed."""
    return pprint.pformat(program, width=100, sort_dicts=False)


def replay(family: str, seed: int) -> str:
    """The command that plays one program again, and shrinks it."""
    return f".venv/bin/python -m tests.differential.random_agents {family} --seed {seed} --shrink"


def main(arguments: list[str] | None = None) -> int:
    """Plays `--count` programs from `--seed` on; 1 if any differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.random_agents")
    parser.add_argument("family", choices=list(MAKERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--brief", action="store_true", help="print no program")
    options = parser.parse_args(arguments)
    quiet()
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        program = make(options.family, seed)
        found = _compared(program)
        if not found:
            continue
        failed += 1
        if options.shrink:
            program = shrink(program, _shows(found))
            found = _compared(program)
        print(f"--- {options.family} {seed}\n{found[:1500]}")
        if not options.brief:
            print(text_of(program))
        print(replay(options.family, seed), flush=True)
    print(f"{options.count} programs, {failed} differ")
    return 1 if failed else 0


def _shows(found: str) -> Callable[[Program], bool]:
    """Whether a program shows the same difference: at the same place, numbers aside."""
    place = re.sub(r"\d+", "", found.partition("\n")[0][:200])
    return lambda one: re.sub(r"\d+", "", _compared(one).partition("\n")[0][:200]) == place


def _compared(program: Program) -> str:
    try:
        found = compare(program)
    except Exception:
        return traceback.format_exc()
    return str(found) if found else ""


if __name__ == "__main__":
    sys.exit(main())
