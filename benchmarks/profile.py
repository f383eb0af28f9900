"""Owns the look inside: ``python -m benchmarks.profile NAME`` profiles one program of the suite.

The program runs once unprofiled (first-use costs), then once under cProfile; the 25 functions with
most time of their own are printed. cProfile sees the calling thread only: what worker threads do
in a sync fan-out is not in the table. The peer cannot be profiled here, on purpose: its inside is
none of our business.
"""

import argparse
import cProfile
import pstats
import sys

from benchmarks.cases import CASES, case_named
from benchmarks.implementations import PLAIT

_LINES = 25


def main() -> None:
    """Profile the program that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("name", choices=[case.name for case in CASES], metavar="NAME")
    arguments = parser.parse_args()
    job = case_named(arguments.name).job(PLAIT)
    job.audit(job.run())
    profiler = cProfile.Profile()
    result = profiler.runcall(job.run)
    job.audit(result)
    job.close()
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(_LINES)


if __name__ == "__main__":
    main()
