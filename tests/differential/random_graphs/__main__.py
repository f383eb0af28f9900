"""Runs seeds by hand: `python -m tests.differential.random_graphs --help`."""

import argparse
import contextlib
import logging
import re
import sys
from functools import partial
from typing import Any

from tests.differential.normal import Difference

from .compare import compare
from .dice import Spec
from .shrink import shrink
from .spec import generate
from .text import program


def main() -> int:
    """The command line; 1 if a seed differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.random_graphs")
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=1, help="how many seeds from there on")
    parser.add_argument("--show", action="store_true", help="print the program")
    parser.add_argument("--shrink", action="store_true", help="make a program that differs smaller")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        spec = generate(seed)
        found = compare(spec)
        if found is None:
            if options.show:
                print(program(spec))
            continue
        failed += 1
        if options.shrink:
            spec = shrink(spec, partial(_differs, _kind(found)))
            found = compare(spec) or found
        print(f"seed {seed} differs {str(found)[:700]}")
        if options.show or options.shrink:
            print(program(spec))
        sys.stdout.flush()
    print(f"{options.count} seeds, {failed} differ")
    return 1 if failed else 0


def _differs(kind: str, spec: Spec) -> bool:
    with contextlib.suppress(
        KeyError, IndexError, TypeError, SyntaxError, ValueError, AttributeError
    ):
        found = compare(spec, tries=2)
        return found is not None and _kind(found) == kind and "NameError" not in str(found)
    return False


def _kind(found: Difference) -> str:
    """What tells one difference from another while a program shrinks."""
    keys = re.findall(r"\['([^']+)'\]", found.path.split(":")[0])
    lengths = " against " in found.path
    return f"{keys[-1:]} {lengths} {_what(found.oracle)} {_what(found.plait)}"


def _what(value: Any) -> str:
    if isinstance(value, dict) and "$error" in value:
        return value["$error"]
    return type(value).__name__


if __name__ == "__main__":
    sys.exit(main())
