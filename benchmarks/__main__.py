"""Owns the command line: ``python -m benchmarks [--quick] [--only NAME] [--json FILE]``.

Ends with 1 if a program failed or two implementations disagreed. A missed must is a line of the
table, not a failure of the command: a busy machine shall not turn a build red.
"""

import argparse
import sys
import time
from pathlib import Path

from benchmarks import report, suite
from benchmarks.cases import names
from benchmarks.implementations import PEER, PLAIT


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="plait's figures")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, under 40 seconds")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="one figure, or a family such as loop or fanout (may be given several times)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures and samples")
    parser.add_argument("--peer-only", action="store_true", help=f"measure {PEER} alone")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    return parser.parse_args()


def _wanted(families: list[str] | None) -> set[str]:
    """The figures of the named families: ``loop`` is also ``loop-async``, never ``loops``."""
    if families is None:
        return set(names())
    wanted = {
        family: {name for name in names() if f"{name}-".startswith(f"{family}-")}
        for family in families
    }
    for family, members in wanted.items():
        if not members:
            sys.exit(f"No figure is named {family!r}. There are: {', '.join(names())}.")
    return {name for members in wanted.values() for name in members}


def main() -> int:
    """Measure, print the table, and say by the exit code whether every program ran."""
    arguments = _arguments()
    if arguments.list:
        print("\n".join(names()))
        return 0
    roots = [PEER] if arguments.peer_only else [PEER, PLAIT]
    started = time.monotonic()
    figures: list[report.Figure] = []
    for figure in suite.run(_wanted(arguments.only), roots, quick=arguments.quick):
        print(f"{time.monotonic() - started:6.1f} s  {figure.name}", file=sys.stderr, flush=True)
        figures.append(figure)
    print(report.machine())
    print("Medians of CPU time, interleaved in one process; ratio = peer / plait.\n")
    print(report.table(figures))
    if arguments.json is not None:
        report.write_json(arguments.json, figures)
    return int(any(figure.error is not None for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
